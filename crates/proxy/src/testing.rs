//! What the unit tests share: a policy from texts, and a name server on loopback that answers as it is told.

use crate::lookup::Lookup;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::op::{Message, OpCode, ResponseCode};
use hickory_resolver::proto::rr::{RData, Record, RecordType};
use palisade_policy::{Endpoint, HostPattern, HostRule, NetworkPolicy, Origin};
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

pub(crate) fn endpoint(text: &str) -> Endpoint {
    Endpoint::parse(text, Some(443)).expect(text)
}

pub(crate) fn network(allowed: &[&str], denied: &[&str]) -> NetworkPolicy {
    NetworkPolicy { allowed: rules(allowed), denied: rules(denied), ..NetworkPolicy::default() }
}

fn rules(texts: &[&str]) -> Vec<HostRule> {
    let rule = |text: &&str| HostRule {
        pattern: HostPattern::parse(text).expect(text),
        origin: Origin::flag("--test", text),
    };
    texts.iter().map(rule).collect()
}

/// A name server. Each question for a name's IPv4 addresses takes the next of its answers; the last one
/// stays.
pub(crate) struct NameServer {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

type Answers = HashMap<String, VecDeque<Vec<IpAddr>>>;

impl NameServer {
    pub(crate) async fn start(answers: &[(&str, &[&[&str]])]) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a socket on loopback");
        let port = socket.local_addr().expect("it is bound").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let parse = |list: &&[&str]| list.iter().map(|text| text.parse().expect(text)).collect();
        let answers =
            answers.iter().map(|(name, lists)| (format!("{name}."), lists.iter().map(parse).collect()));
        let task = tokio::spawn(answer_questions(socket, answers.collect(), Arc::clone(&asked)));
        NameServer { port, asked, task }
    }

    /// A look-up that asks this server alone, after the hosts file.
    pub(crate) fn lookup(&self, hosts_file: &Path) -> Lookup {
        let mut server = NameServerConfig::udp(Ipv4Addr::LOCALHOST.into());
        server.connections[0].port = self.port;
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
        let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        builder.options_mut().use_hosts_file = ResolveHosts::Never;
        builder.options_mut().ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        Lookup::with_resolver(hosts_file, builder.build().expect("a resolver"))
    }

    /// The names that were asked for, once for each question about IPv4 addresses.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test has failed").clone()
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer_questions(socket: UdpSocket, mut answers: Answers, asked: Arc<Mutex<Vec<String>>>) {
    let mut buffer = [0; 1500];
    while let Ok((length, peer)) = socket.recv_from(&mut buffer).await {
        let question = Message::from_vec(&buffer[..length]).expect("a question");
        let answer = answer_to(&question, &mut answers, &asked).to_vec().expect("it can be written");
        socket.send_to(&answer, peer).await.expect("the resolver is there");
    }
}

fn answer_to(question: &Message, answers: &mut Answers, asked: &Mutex<Vec<String>>) -> Message {
    let query = &question.queries[0];
    let name = query.name().to_string();
    let mut answer = Message::response(question.metadata.id, OpCode::Query);
    answer.add_query(query.clone());
    match answers.get_mut(&name) {
        None => answer.metadata.response_code = ResponseCode::NXDomain,
        Some(lists) if query.query_type() == RecordType::A => {
            asked.lock().expect("no test has failed").push(name);
            let list = if lists.len() > 1 { lists.pop_front() } else { lists.front().cloned() };
            for address in list.unwrap_or_default() {
                answer.add_answer(Record::from_rdata(query.name().clone(), 0, RData::from(address)));
            }
        }
        Some(_) => {}
    }
    answer
}

//! Every limit of the proxy, in one place.
//!
//! The command inside may open as many connections and send as many bytes as it likes; what it can make this
//! process hold for it is bounded here. A limit that is hit is told to the client, in words where the
//! protocol has room for words. Nothing here is a policy: what may be reached is decided by the gate alone.

use std::time::Duration;

/// Connections to the outside that one command may hold at once. Each takes two descriptors here, so that
/// the full number stays within the 1,024 that a process may customarily open. A connection beyond is
/// refused with the reason: waiting would hang a command whose other connections are idle tunnels.
pub const UPSTREAMS: usize = 256;

/// Connections from the command that are served at once. There are some more than [`UPSTREAMS`], so that a
/// client can be told that those are used up; what comes beyond waits in the listener's queue.
pub const CLIENTS: usize = UPSTREAMS + 32;

/// Bytes of a request's head: request line and headers (and of a chunked body's trailers). Beyond, the
/// answer is `431 Request Header Fields Too Large`. Cookies and tokens of a few KiB are common, 64 KiB is
/// what the most generous of the usual servers take.
pub const REQUEST_HEAD: usize = 64 * 1024;

/// How long a client may take to say what it wants: to send the head of a request (the wait on a kept-alive
/// connection included) or to finish the SOCKS handshake. Long enough for a client that is stopped in a
/// debugger for a moment or keeps a pool of connections.
pub const HANDSHAKE_TIME: Duration = Duration::from_secs(120);

/// How long a name may take to be looked up, all name servers and repetitions together.
pub const LOOKUP_TIME: Duration = Duration::from_secs(15);

/// How long dialing may take, all addresses of the host together.
pub const DIAL_TIME: Duration = Duration::from_secs(30);

/// How long one address has to answer before the next is dialed as well. The first to answer is taken.
pub const DIAL_STAGGER: Duration = Duration::from_millis(500);

/// Addresses of one host that are dialed at most: whoever answers for a name may list any number.
pub const DIALED_ADDRESSES: usize = 16;

/// How long a tunnel may carry nothing. A direct connection would have no such limit at all, and a database
/// session or a shell may well rest over lunch; but what a long-running command forgets has to be found
/// again some time.
pub const TUNNEL_IDLE: Duration = Duration::from_secs(4 * 60 * 60);

/// How long a tunnel may carry nothing once one side has said that it will send no more. That is how a
/// client that was killed looks as well, and the other side may never notice.
pub const HALF_CLOSED_IDLE: Duration = Duration::from_secs(15 * 60);

/// How often a tunnel is looked at for that.
pub const IDLE_CHECK: Duration = Duration::from_secs(60);

/// Bytes that one direction of a tunnel moves at a time, at most. The memory is held only while bytes are
/// moving.
pub const TUNNEL_BUFFER: usize = 128 * 1024;

/// Bytes of a refused request's body that are still taken in, so that a client which sends everything before
/// it reads gets to see the refusal rather than a broken connection.
pub const REFUSED_BODY: usize = 16 * 1024 * 1024;

/// Violations that are listed. What is refused beyond is counted.
pub const VIOLATIONS: usize = 256;

/// Bytes that are shown of a target that is no host.
pub const UNREADABLE_TEXT: usize = 256;

/// How old the list of this machine's own addresses may be when a look-up is vetted against it.
pub const OWN_ADDRESSES_AGE: Duration = Duration::from_secs(1);

/// How long accepting rests after the system refused it, which it does when descriptors have run out.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

//! Classes of IP addresses that a public host name has no business to lead to, and the IPv4 addresses that
//! hide in IPv6 ones.
//!
//! Whoever controls a name controls every bit of the addresses it leads to. So an IPv6 address is judged
//! twice: as it stands, and by *every* IPv4 address that some mechanism would unpack from it; one bad
//! answer is enough. An ordinary address inside never makes up for what is around it.
//!
//! What cannot be known from the bits alone is not guessed at: a network's own NAT64, 6rd or MAP prefix.

use ipnet::{Ipv4Net, Ipv6Net};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of place an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// Anywhere else: the only class that a name may lead to. Private networks are in it.
    Elsewhere,
    /// 127.0.0.0/8, `::1`.
    Loopback,
    /// 169.254.0.0/16, fe80::/10, and fec0::/10, which had the same purpose (RFC 3879).
    LinkLocal,
    /// 224.0.0.0/4, ff00::/8, and the IPv4 broadcast address.
    Multicast,
    /// 0.0.0.0/8 and `::`, which the kernel takes for this machine, and the IPv6 addresses that carry one of
    /// them, such as `::2`.
    Unspecified,
    /// A cloud's metadata endpoint, which hands out credentials to whoever can reach it.
    Metadata,
    /// An address that one of this machine's interfaces holds.
    ThisMachine,
}

/// The addresses that this machine's interfaces hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalAddresses(Vec<IpAddr>);

impl LocalAddresses {
    /// Takes the addresses of all interfaces.
    pub fn new(addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        LocalAddresses(addresses.into_iter().map(|address| address.to_canonical()).collect())
    }

    /// The class of `address`: that of the address as it stands, and if that is
    /// [`Elsewhere`](AddressClass::Elsewhere), the first other one among the IPv4 addresses that it carries.
    pub fn class(&self, address: IpAddr) -> AddressClass {
        let address = address.to_canonical();
        let carried = carried_ipv4(address).into_iter().map(IpAddr::from);
        std::iter::once(address)
            .chain(carried)
            .map(|address| self.class_as_it_stands(address))
            .find(|class| *class != AddressClass::Elsewhere)
            .unwrap_or(AddressClass::Elsewhere)
    }

    fn class_as_it_stands(&self, address: IpAddr) -> AddressClass {
        match class_by_range(address) {
            AddressClass::Elsewhere if self.0.contains(&address) => AddressClass::ThisMachine,
            class => class,
        }
    }
}

/// The IPv4 ranges of a class, narrow ones first. Clouds serve credentials at one address for most of them,
/// at further ones for AWS (containers, pods), Scaleway, Tencent, Alibaba, Oracle and Azure.
const RANGES_V4: [(Ipv4Net, AddressClass); 13] = [
    (v4([169, 254, 169, 254], 32), AddressClass::Metadata),
    (v4([169, 254, 170, 2], 32), AddressClass::Metadata),
    (v4([169, 254, 170, 23], 32), AddressClass::Metadata),
    (v4([169, 254, 42, 42], 32), AddressClass::Metadata),
    (v4([169, 254, 0, 23], 32), AddressClass::Metadata),
    (v4([100, 100, 100, 200], 32), AddressClass::Metadata),
    (v4([192, 0, 0, 192], 32), AddressClass::Metadata),
    (v4([168, 63, 129, 16], 32), AddressClass::Metadata),
    (v4([127, 0, 0, 0], 8), AddressClass::Loopback),
    (v4([169, 254, 0, 0], 16), AddressClass::LinkLocal),
    (UNSPECIFIED_V4, AddressClass::Unspecified),
    (v4([224, 0, 0, 0], 4), AddressClass::Multicast),
    (v4([255, 255, 255, 255], 32), AddressClass::Multicast),
];

/// The same for IPv6; the metadata endpoints are those of AWS (machines, pods), Google, Scaleway, Akamai,
/// Oracle, Alibaba and OpenStack.
const RANGES_V6: [(Ipv6Net, AddressClass); 13] = [
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), AddressClass::Metadata),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23], 128), AddressClass::Metadata),
    (v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128), AddressClass::Metadata),
    (v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128), AddressClass::Metadata),
    (v6([0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1], 128), AddressClass::Metadata),
    (v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128), AddressClass::Metadata),
    (v6([0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200], 128), AddressClass::Metadata),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128), AddressClass::Metadata),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128), AddressClass::Loopback),
    (v6([0; 8], 128), AddressClass::Unspecified),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), AddressClass::Multicast),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), AddressClass::LinkLocal),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), AddressClass::LinkLocal),
];

const UNSPECIFIED_V4: Ipv4Net = v4([0, 0, 0, 0], 8);

const fn v4([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix)
}

fn class_by_range(address: IpAddr) -> AddressClass {
    let class = match address {
        IpAddr::V4(address) => {
            RANGES_V4.iter().find(|(range, _)| range.contains(&address)).map(|(_, class)| class)
        }
        IpAddr::V6(address) => {
            RANGES_V6.iter().find(|(range, _)| range.contains(&address)).map(|(_, class)| class)
        }
    };
    class.copied().unwrap_or(AddressClass::Elsewhere)
}

/// Every IPv4 address that some mechanism unpacks from `address`; several where mechanisms nest or where the
/// bits do not say which one is meant.
pub(crate) fn carried_ipv4(address: IpAddr) -> Vec<Ipv4Addr> {
    let IpAddr::V6(address) = address else { return Vec::new() };
    let mut carried = carried_by_prefix(address);
    // ISATAP (RFC 5214) marks the lower half only, below any prefix; two bits of the mark may vary.
    if let [.., mark, 0x5efe, high, low] = address.segments()
        && mark & !0x0300 == 0
    {
        carried.push(joined(high, low));
    }
    carried
}

fn carried_by_prefix(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    match address.segments() {
        // Mapped and compatible (RFC 4291), translated (RFC 2765), NAT64 (RFC 6052).
        [0, 0, 0, 0, 0, 0xffff | 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => vec![joined(high, low)],
        [0x64, 0xff9b, 1, ..] => carried_by_local_nat64(address),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => vec![joined(high, low)],
        // Teredo (RFC 4380): the client's address, inverted, and its server's.
        [0x2001, 0, server_high, server_low, .., high, low] => {
            vec![joined(!high, !low), joined(server_high, server_low)]
        }
        _ => Vec::new(),
    }
}

/// The local-use NAT64 prefix (RFC 8215) leaves the length of a network's own prefix open, and with it
/// where the IPv4 address stands (RFC 6052, section 2.2), so all places count. The wrong ones mostly read
/// as 0.0.0.0/8, where no translator delivers: such a reading counts only when there is no other.
fn carried_by_local_nat64(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let bits = address.to_bits();
    // Bits 64 to 71 belong to no address; after a prefix of 96 bits they are behind already.
    let without_gap = (bits >> 64 << 56) | (bits & (u128::MAX >> 72));
    let readings =
        [48, 56, 64, 88].map(|prefix| Ipv4Addr::from_bits((without_gap >> (120 - 32 - prefix)) as u32));
    let plausible: Vec<_> =
        readings.into_iter().filter(|reading| !UNSPECIFIED_V4.contains(reading)).collect();
    if plausible.is_empty() { readings.to_vec() } else { plausible }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))
}

/// Completes "… leads to …".
impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressClass::Elsewhere => "an ordinary address",
            AddressClass::Loopback => "a loopback address",
            AddressClass::LinkLocal => "a link-local address",
            AddressClass::Multicast => "a multicast or broadcast address",
            AddressClass::Unspecified => "the unspecified address",
            AddressClass::Metadata => "a cloud metadata endpoint",
            AddressClass::ThisMachine => "an address of this machine",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        use AddressClass::*;
        let own =
            LocalAddresses::new(["192.0.2.7", "2001:db8::7"].map(|own| own.parse().expect("an address")));
        for (text, class) in [
            ("93.184.216.34", Elsewhere),
            ("10.0.0.1", Elsewhere),
            ("127.0.0.1", Loopback),
            ("127.255.0.9", Loopback),
            ("169.254.1.1", LinkLocal),
            ("169.254.169.254", Metadata),
            ("169.254.170.2", Metadata),
            ("169.254.42.42", Metadata),
            ("100.100.100.200", Metadata),
            ("0.0.0.0", Unspecified),
            ("0.1.2.3", Unspecified),
            ("224.0.0.1", Multicast),
            ("255.255.255.255", Multicast),
            ("192.0.2.7", ThisMachine),
            ("2001:db8::7", ThisMachine),
            ("::1", Loopback),
            ("::", Unspecified),
            ("::2", Unspecified),
            ("fe80::1", LinkLocal),
            ("fec0::1", LinkLocal),
            ("ff02::1", Multicast),
            ("fd00:ec2::254", Metadata),
            ("fd00:42::42", Metadata),
            ("fe80::a9fe:a9fe", Metadata),
            ("2606:2800::1", Elsewhere),
        ] {
            assert_eq!(own.class(text.parse().expect(text)), class, "{text}");
        }
    }

    #[test]
    fn classes_of_ipv4_in_ipv6() {
        use AddressClass::*;
        let own = LocalAddresses::new(["192.0.2.7".parse().expect("an address")]);
        for (text, class) in [
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:192.0.2.7", ThisMachine),
            ("::ffff:0:127.0.0.1", Loopback),
            ("::127.0.0.1", Loopback),
            ("64:ff9b::169.254.169.254", Metadata),
            ("64:ff9b::8.8.8.8", Elsewhere),
            ("2002:7f00:1::", Loopback),
            ("2002:808:808::", Elsewhere),
            ("2001:0:808:808::80ff:fffe", Loopback),
            ("2001:0:7f00:1::f7f7:f7f7", Loopback),
            ("2001:0:808:808::f7f7:f7f7", Elsewhere),
            ("2606::5efe:127.0.0.1", Loopback),
            ("2606::300:5efe:127.0.0.1", Loopback),
            ("2606::5efe:10.0.0.1", Elsewhere),
            // One inside another.
            ("2002:808:808::5efe:127.0.0.1", Loopback),
            ("2002:7f00:1::5efe:8.8.8.8", Loopback),
            // An ordinary address inside makes up for nothing.
            ("fe80::5efe:8.8.8.8", LinkLocal),
            ("fec0::5efe:8.8.8.8", LinkLocal),
            ("ff02::5efe:8.8.8.8", Multicast),
            ("fe80::200:5efe:8.8.8.8", LinkLocal),
            // Every place that RFC 6052 has: after 48, 56, 64 and 96 bits.
            ("64:ff9b:1:7f00:0:100::", Loopback),
            ("64:ff9b:1:7f:0:1::", Loopback),
            ("64:ff9b:1:0:7f:0:100::", Loopback),
            ("64:ff9b:1::127.0.0.1", Loopback),
            ("64:ff9b:1:7f00:0:100:0:1", Loopback),
            ("64:ff9b:1:a9fe:a9:fe00::", Metadata),
            ("64:ff9b:1:808:8:800::", Elsewhere),
            ("64:ff9b:1::8.8.8.8", Elsewhere),
            ("64:ff9b:1:fffe::8.8.8.8", Elsewhere),
            ("64:ff9b:1::", Unspecified),
        ] {
            assert_eq!(own.class(text.parse().expect(text)), class, "{text}");
        }
    }
}

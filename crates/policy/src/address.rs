//! Classes of IP addresses that a public host name has no business to lead to.

use crate::host::embedded_ipv4;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What kind of place an address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// Anywhere else: the only class that a name may lead to.
    Elsewhere,
    /// 127.0.0.0/8, `::1`.
    Loopback,
    /// 169.254.0.0/16, fe80::/10.
    LinkLocal,
    /// 224.0.0.0/4, ff00::/8, and the IPv4 broadcast address.
    Multicast,
    /// 0.0.0.0/8, `::`: the kernel takes them for this machine.
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

    /// The class of `address`. IPv4 inside IPv6 is judged by the IPv4 address it carries, however it is carried.
    pub fn class(&self, address: IpAddr) -> AddressClass {
        let address = address.to_canonical();
        if self.0.contains(&address) {
            let class = self.class_by_range(address);
            return if class == AddressClass::Elsewhere { AddressClass::ThisMachine } else { class };
        }
        self.class_by_range(address)
    }

    fn class_by_range(&self, address: IpAddr) -> AddressClass {
        match address {
            IpAddr::V4(address) => class_v4(address),
            IpAddr::V6(address) => match embedded_ipv4(address) {
                Some(inner) => self.class(inner.into()),
                None => class_v6(address),
            },
        }
    }
}

/// Metadata endpoints outside the link-local ranges: Alibaba, Oracle, Azure.
const METADATA_V4: [Ipv4Addr; 3] =
    [Ipv4Addr::new(100, 100, 100, 200), Ipv4Addr::new(192, 0, 0, 192), Ipv4Addr::new(168, 63, 129, 16)];
/// The address that AWS, Google (as documented), Azure, and most others share.
const METADATA_LINK_LOCAL: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
/// AWS and Google over IPv6.
const METADATA_V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254), Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)];

fn class_v4(address: Ipv4Addr) -> AddressClass {
    if address == METADATA_LINK_LOCAL || METADATA_V4.contains(&address) {
        AddressClass::Metadata
    } else if address.is_loopback() {
        AddressClass::Loopback
    } else if address.is_link_local() {
        AddressClass::LinkLocal
    } else if address.octets()[0] == 0 {
        AddressClass::Unspecified
    } else if address.is_multicast() || address.is_broadcast() {
        AddressClass::Multicast
    } else {
        AddressClass::Elsewhere
    }
}

fn class_v6(address: Ipv6Addr) -> AddressClass {
    if METADATA_V6.contains(&address) {
        AddressClass::Metadata
    } else if address.is_loopback() {
        AddressClass::Loopback
    } else if address.is_unspecified() {
        AddressClass::Unspecified
    } else if address.is_multicast() {
        AddressClass::Multicast
    } else if matches!(address.segments()[0] & 0xffc0, 0xfe80 | 0xfec0) {
        AddressClass::LinkLocal
    } else {
        AddressClass::Elsewhere
    }
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
        let own = LocalAddresses::new(["192.0.2.7".parse().expect("an address")]);
        for (text, class) in [
            ("93.184.216.34", Elsewhere),
            ("10.0.0.1", Elsewhere),
            ("127.0.0.1", Loopback),
            ("127.255.0.9", Loopback),
            ("169.254.1.1", LinkLocal),
            ("169.254.169.254", Metadata),
            ("100.100.100.200", Metadata),
            ("0.0.0.0", Unspecified),
            ("0.1.2.3", Unspecified),
            ("224.0.0.1", Multicast),
            ("255.255.255.255", Multicast),
            ("192.0.2.7", ThisMachine),
            ("::1", Loopback),
            ("::", Unspecified),
            ("fe80::1", LinkLocal),
            ("ff02::1", Multicast),
            ("fd00:ec2::254", Metadata),
            ("2606:2800::1", Elsewhere),
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:0:127.0.0.1", Loopback),
            ("::127.0.0.1", Loopback),
            ("64:ff9b::169.254.169.254", Metadata),
            ("64:ff9b:1::127.0.0.1", Loopback),
            ("2002:7f00:1::", Loopback),
            ("2001:0:1::80ff:fffe", Loopback),
            ("fe80::5efe:127.0.0.1", Loopback),
            ("2606::5efe:10.0.0.1", Elsewhere),
            ("::ffff:192.0.2.7", ThisMachine),
        ] {
            assert_eq!(own.class(text.parse().expect(text)), class, "{text}");
        }
    }
}

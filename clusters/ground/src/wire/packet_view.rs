//! What a frame holds, as far as rules ask: an IPv4 packet, a TCP segment; flipping its bits and resetting its
//! connection; cutting it to packets. Frames come from kernels of ours, but nothing is taken for granted: what does not
//! parse is no packet.

/// Destination, source and type.
pub const ETHERNET_HEADER: usize = 14;
const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const TCP: u8 = 6;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const PUSH: u8 = 0x08;
const ACK: u8 = 0x10;
const WINDOW_REDUCED: u8 = 0x80;
/// Of a frame that we make.
const TIME_TO_LIVE: u8 = 64;

/// Where an IPv4 packet ends in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    end: usize,
}

/// Where a whole TCP segment is in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    tcp: usize,
    data: usize,
    end: usize,
}

impl Packet {
    /// The packet in a frame; none where it holds none, or a part.
    pub fn of(frame: &[u8]) -> Option<Packet> {
        let ip = frame.get(ETHERNET_HEADER..)?;
        let whole = ip.len() >= IP_HEADER && frame[12..14] == [8, 0] && ip[0] >> 4 == 4;
        let length = whole.then(|| usize::from(u16::from_be_bytes([ip[2], ip[3]])))?;
        (header(ip[0])..=ip.len()).contains(&length).then_some(Packet {
            end: ETHERNET_HEADER + length,
        })
    }

    /// Flips one bit of the packet, whichever was drawn.
    pub fn flip(self, frame: &mut [u8], draw: u64) {
        flip(&mut frame[ETHERNET_HEADER..self.end], draw);
    }
}

impl Segment {
    /// The segment in a frame; none where it holds none, or a fragment.
    pub fn of(frame: &[u8]) -> Option<Segment> {
        let Packet { end } = Packet::of(frame)?;
        let ip = &frame[ETHERNET_HEADER..end];
        let fragment = u16::from_be_bytes([ip[6], ip[7]]) & 0x3FFF != 0;
        let tcp = ETHERNET_HEADER + header(ip[0]);
        if ip[9] != TCP || fragment || ip[0] & 15 < 5 || end < tcp + TCP_HEADER {
            return None;
        }
        let data = tcp + usize::from(frame[tcp + 12] >> 4) * 4;
        (tcp + TCP_HEADER..=end)
            .contains(&data)
            .then_some(Segment { tcp, data, end })
    }

    /// Whether it comes from or goes to a port.
    pub fn is_of(self, frame: &[u8], port: u16) -> bool {
        let port = port.to_be_bytes();
        frame[self.tcp..self.tcp + 2] == port || frame[self.tcp + 2..self.tcp + 4] == port
    }

    pub fn has_data(self) -> bool {
        self.data < self.end
    }

    /// Whether it is of a connection that both ends have agreed to and neither has ended.
    pub fn is_established(self, frame: &[u8]) -> bool {
        frame[self.tcp + 13] & (FIN | SYN | RST | ACK) == ACK
    }

    /// Flips one bit of the data, whichever was drawn, and makes the checksum fit.
    pub fn flip(self, frame: &mut [u8], draw: u64) {
        flip(&mut frame[self.data..self.end], draw);
        self.seal(frame);
    }

    /// The RST that makes the receiver end the connection, and the one that makes the sender: each stands at the very
    /// next byte that its receiver awaits, or it would be taken for an attack and only questioned.
    pub fn resets(self, frame: &[u8]) -> [Vec<u8>; 2] {
        let part = |at: usize, length: usize| &frame[at..at + length];
        let (sequence, acknowledged) = (part(self.tcp + 4, 4), part(self.tcp + 8, 4));
        let (from, to) = (part(26, 4), part(30, 4));
        let (from_port, to_port) = (part(self.tcp, 2), part(self.tcp + 2, 2));
        [
            reset(
                [part(0, 6), part(6, 6)],
                [from, to],
                [from_port, to_port],
                sequence,
            ),
            reset(
                [part(6, 6), part(0, 6)],
                [to, from],
                [to_port, from_port],
                acknowledged,
            ),
        ]
    }

    /// Cuts a long segment to packets of so many bytes of data, each with complete checksums. What is to be told once
    /// is told first (a window was reduced) or last (push, end), as a device would.
    pub fn split(self, frame: &[u8], size: usize, mut each: impl FnMut(&[u8])) {
        let mut packet = Vec::with_capacity(self.data + size);
        let sequence = u32::from_be_bytes([0, 1, 2, 3].map(|n| frame[self.tcp + 4 + n]));
        let identity = u16::from_be_bytes([frame[18], frame[19]]);
        if size == 0 {
            return;
        }
        let parts = frame[self.data..self.end].chunks(size);
        let last = parts.len().saturating_sub(1);
        for (n, part) in parts.enumerate() {
            packet.clear();
            packet.extend_from_slice(&frame[..self.data]);
            packet.extend_from_slice(part);
            let end = packet.len();
            // Each is shorter than the whole, whose length and sequence these are of.
            packet[16..18].copy_from_slice(&((end - ETHERNET_HEADER) as u16).to_be_bytes());
            packet[18..20].copy_from_slice(&identity.wrapping_add(n as u16).to_be_bytes());
            packet[24..26].fill(0);
            let sum = checksum(&[&packet[ETHERNET_HEADER..self.tcp]]);
            packet[24..26].copy_from_slice(&sum.to_be_bytes());
            let at = sequence.wrapping_add((n * size) as u32);
            packet[self.tcp + 4..self.tcp + 8].copy_from_slice(&at.to_be_bytes());
            let flags = &mut packet[self.tcp + 13];
            if n < last {
                *flags &= !(FIN | PUSH);
            }
            if n > 0 {
                *flags &= !WINDOW_REDUCED;
            }
            Segment { end, ..self }.seal(&mut packet);
            each(&packet);
        }
    }

    fn seal(self, frame: &mut [u8]) {
        let at = self.tcp + 16;
        frame[at..at + 2].fill(0);
        let mut pseudo = [0; 12];
        pseudo[..8].copy_from_slice(&frame[26..34]);
        pseudo[9] = TCP;
        // A packet's length fits 16 bits.
        pseudo[10..].copy_from_slice(&((self.end - self.tcp) as u16).to_be_bytes());
        let sum = checksum(&[&pseudo, &frame[self.tcp..self.end]]);
        frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Completes a checksum over all from `start` on, which stands `offset` behind it and holds the sum of what is not
/// there; whether there was room for one.
pub fn complete(frame: &mut [u8], start: usize, offset: usize) -> bool {
    let at = start + offset;
    if at + 2 > frame.len() {
        return false;
    }
    let sum = checksum(&[&frame[start..]]);
    // As UDP has it, where zero is no checksum; to TCP both are the same.
    let sum = if sum == 0 { u16::MAX } else { sum };
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    true
}

/// A RST from one end to the other: hardware addresses (to, from), then addresses and ports (from, to).
fn reset(hardware: [&[u8]; 2], addresses: [&[u8]; 2], ports: [&[u8]; 2], sequence: &[u8]) -> Vec<u8> {
    const LENGTH: u8 = (IP_HEADER + TCP_HEADER) as u8;
    let mut frame = [hardware[0], hardware[1], &[8, 0]].concat();
    frame.extend([0x45, 0, 0, LENGTH, 0, 0, 0x40, 0, TIME_TO_LIVE, TCP, 0, 0]);
    frame.extend([addresses[0], addresses[1]].concat());
    let sum = checksum(&[&frame[ETHERNET_HEADER..]]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend([ports[0], ports[1], sequence].concat());
    frame.extend([0, 0, 0, 0, 5 << 4, RST, 0, 0, 0, 0, 0, 0]);
    let (tcp, end) = (ETHERNET_HEADER + IP_HEADER, frame.len());
    Segment { tcp, data: end, end }.seal(&mut frame);
    frame
}

/// An IPv4 header's length, from its first byte.
fn header(first: u8) -> usize {
    usize::from(first & 15) * 4
}

fn flip(bytes: &mut [u8], draw: u64) {
    let bit = super::random::below(draw, bytes.len() as u64 * 8) as usize;
    if let Some(byte) = bytes.get_mut(bit / 8) {
        *byte ^= 1 << (bit % 8);
    }
}

/// The Internet checksum of parts, each but the last of even length. It is the same in either order of bytes, so four
/// at a time are summed as they lie.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u64;
    for part in parts {
        let fours = part.chunks_exact(4);
        let mut rest = [0; 4];
        rest[..fours.remainder().len()].copy_from_slice(fours.remainder());
        sum += u64::from(u32::from_ne_bytes(rest));
        sum += fours
            .map(|four| u64::from(u32::from_ne_bytes([four[0], four[1], four[2], four[3]])))
            .sum::<u64>();
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    u16::from_be_bytes((!(sum as u16)).to_ne_bytes())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A segment from 10.9.0.1:`from` to 10.9.0.2:`to` for the switch's port `at`, with complete checksums.
    pub fn segment(at: u8, [from, to]: [u16; 2], flags: u8, data: &[u8]) -> Vec<u8> {
        let mut frame = vec![2, 0, 10, 9, 0, at, 2, 0, 10, 9, 0, 99, 8, 0];
        let length = (40 + data.len()) as u16;
        frame.extend([0x45, 0]);
        frame.extend(length.to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, TCP, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
        let sum = checksum(&[&frame[14..34]]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend(from.to_be_bytes());
        frame.extend(to.to_be_bytes());
        frame.extend([0, 0, 1, 0, 0, 0, 2, 0, 5 << 4, flags, 0, 9, 0, 0, 0, 0]);
        frame.extend(data);
        Segment::of(&frame).unwrap().seal(&mut frame);
        frame
    }

    pub fn is_whole(frame: &[u8]) -> bool {
        let Some(segment) = Segment::of(frame) else {
            return false;
        };
        let mut sealed = frame.to_vec();
        segment.seal(&mut sealed);
        sealed == frame && checksum(&[&frame[14..34]]) == 0
    }

    #[test]
    fn checksums_are_those_of_the_kernel() {
        // The example of RFC 1071, section 3; its sum is ddf2.
        assert_eq!(
            checksum(&[&[0x00, 0x01, 0xf2, 0x03], &[0xf4, 0xf5, 0xf6, 0xf7]]),
            !0xddf2
        );
        assert_eq!(checksum(&[&[0x01]]), !0x0100);
    }

    #[test]
    fn a_segment_is_found_by_its_ports() {
        let frame = segment(1, [40_000, 9092], ACK, b"x");
        let it = Segment::of(&frame).unwrap();
        assert!(it.is_of(&frame, 9092) && it.is_of(&frame, 40_000) && !it.is_of(&frame, 9093));
        assert!(it.has_data() && it.is_established(&frame));
        let syn = segment(1, [1, 2], SYN, b"");
        let it = Segment::of(&syn).unwrap();
        assert!(!it.has_data() && !it.is_established(&syn));
    }

    #[test]
    fn what_is_cut_short_or_odd_is_no_segment() {
        let frame = segment(1, [1, 2], ACK, b"data");
        for length in 0..frame.len() {
            assert_eq!(Segment::of(&frame[..length]), None);
        }
        for at in 0..frame.len() {
            for byte in [0, 0x0F, 0xF0, 0xFF] {
                let mut odd = frame.clone();
                odd[at] = byte;
                // Whatever it is taken for, nothing panics.
                if let Some(packet) = Packet::of(&odd) {
                    packet.flip(&mut odd.clone(), 7);
                }
                if let Some(segment) = Segment::of(&odd) {
                    segment.flip(&mut odd.clone(), 7);
                    segment.resets(&odd);
                }
            }
        }
    }

    #[test]
    fn a_flipped_bit_breaks_the_checksums_or_is_past_them() {
        let frame = segment(1, [1, 2], ACK, b"some data");
        for draw in (0..=u64::MAX).step_by(usize::MAX / 500) {
            let mut under = frame.clone();
            Packet::of(&frame).unwrap().flip(&mut under, draw);
            assert!(under != frame && !is_whole(&under));
            let mut past = frame.clone();
            Segment::of(&frame).unwrap().flip(&mut past, draw);
            assert!(past[54..] != frame[54..] && is_whole(&past));
        }
    }

    #[test]
    fn resets_stand_where_each_end_awaits_its_next_byte() {
        let frame = segment(1, [1000, 2000], ACK, b"data");
        let [to_receiver, to_sender] = Segment::of(&frame).unwrap().resets(&frame);
        assert!(is_whole(&to_receiver) && is_whole(&to_sender));
        assert_eq!(to_receiver[..12], frame[..12]);
        assert_eq!(
            to_receiver[26..42],
            frame[26..42],
            "addresses, ports and sequence are the segment's"
        );
        assert_eq!(to_sender[..6], frame[6..12]);
        assert_eq!(
            to_sender[38..42],
            frame[42..46],
            "the sequence is what the sender has acknowledged"
        );
        assert_eq!([to_receiver[47], to_sender[47]], [RST, RST]);
    }
}

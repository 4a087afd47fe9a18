//! The header before each frame of a TAP (`struct virtio_net_hdr`), by which kernels leave work undone that a device
//! would do: checksums, and the cutting of a long segment to packets.
//!
//! Between two kernels of ours a frame goes on with its header, undone as it is. Before faults are drawn the work is
//! done: a fault strikes packets, and a flipped bit shows in a checksum.

use super::packet_view::{ETHERNET_HEADER, Segment, complete};

/// The header's length.
pub const HEADER: usize = 10;
/// Of a frame with which nothing is left to do.
pub const DONE: [u8; HEADER] = [0; HEADER];
/// In the flags: the checksum is to be completed.
const NEEDS_CHECKSUM: u8 = 1;
/// A kind of long frame: a TCP segment over IPv4. The only one that our TAPs offer to take.
const LONG_TCP: u8 = 1;
/// Beside the kind: congestion is notified explicitly.
const ECN: u8 = 0x80;

/// Does what is left to do with a frame behind its header: gives each packet that comes of it. What is cut short, or
/// of a kind that was not offered, gives none.
pub fn packets(buffer: &[u8], mut each: impl FnMut(&[u8])) {
    let Some((header, frame)) = buffer.split_at_checked(HEADER) else {
        return;
    };
    let number = |at: usize| usize::from(u16::from_ne_bytes([header[at], header[at + 1]]));
    match header[1] & !ECN {
        0 if header[0] & NEEDS_CHECKSUM == 0 => each(frame),
        0 => {
            let mut frame = frame.to_vec();
            if complete(&mut frame, number(6), number(8)) {
                each(&frame);
            }
        }
        LONG_TCP => {
            if let Some(segment) = Segment::of(frame) {
                segment.split(frame, number(4), each);
            }
        }
        _ => {}
    }
}

/// Whether a buffer holds a header and something behind it that may be a frame.
pub fn is_frame(buffer: &[u8]) -> bool {
    buffer.len() >= HEADER + ETHERNET_HEADER
}

#[cfg(test)]
mod tests {
    use super::super::packet_view::tests::{is_whole, segment};
    use super::*;

    const ACK_AND_PUSH: u8 = 0x18;

    fn header(flags: u8, kind: u8, numbers: [u16; 4]) -> Vec<u8> {
        let numbers = numbers.iter().flat_map(|number| number.to_ne_bytes());
        [flags, kind].into_iter().chain(numbers).collect()
    }

    fn done(buffer: &[u8]) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        packets(buffer, |packet| all.push(packet.to_vec()));
        all
    }

    /// A segment as a kernel hands it over: in the checksum's place the sum of the pseudo header only.
    fn undone(data: &[u8]) -> Vec<u8> {
        let mut frame = segment(3, [1, 2], ACK_AND_PUSH, data);
        let length = (20 + data.len()) as u32;
        let words = frame[26..34]
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let sum = words.sum::<u32>() + 6 + length;
        let folded = (sum & 0xFFFF) + (sum >> 16);
        frame[50..52].copy_from_slice(&((folded & 0xFFFF) as u16 + (folded >> 16) as u16).to_be_bytes());
        assert!(!is_whole(&frame));
        frame
    }

    #[test]
    fn what_is_done_is_left_as_it_is() {
        let frame = segment(3, [1, 2], ACK_AND_PUSH, b"data");
        assert_eq!(done(&[&DONE[..], &frame].concat()), [frame]);
    }

    #[test]
    fn a_checksum_is_completed() {
        for data in [&b"data"[..], b"odd", b""] {
            let buffer = [header(NEEDS_CHECKSUM, 0, [0, 0, 34, 16]), undone(data)].concat();
            assert_eq!(done(&buffer), [segment(3, [1, 2], ACK_AND_PUSH, data)]);
        }
    }

    #[test]
    fn a_long_segment_is_cut_to_packets() {
        let data: Vec<u8> = (0..3500u32).map(|n| n as u8).collect();
        let buffer = [
            header(NEEDS_CHECKSUM, LONG_TCP, [54, 1448, 34, 16]),
            undone(&data),
        ]
        .concat();
        let packets = done(&buffer);
        let lengths: Vec<usize> = packets.iter().map(Vec::len).collect();
        assert_eq!(lengths, [1448 + 54, 1448 + 54, 604 + 54]);
        assert!(packets.iter().all(|packet| is_whole(packet)));
        let carried: Vec<u8> = packets.iter().flat_map(|packet| packet[54..].to_vec()).collect();
        assert_eq!(carried, data);
        let sequence = |packet: &[u8]| u32::from_be_bytes(packet[38..42].try_into().unwrap());
        assert_eq!(
            packets.iter().map(|packet| sequence(packet)).collect::<Vec<_>>(),
            [256, 1704, 3152]
        );
        let pushes: Vec<bool> = packets.iter().map(|packet| packet[47] & 8 != 0).collect();
        assert_eq!(pushes, [false, false, true], "only the last one pushes");
    }

    #[test]
    fn nonsense_gives_nothing_and_does_not_panic() {
        let frame = undone(&[7; 3000]);
        for numbers in [
            [0, 0, 0, 0],
            [0, 0, 65_535, 16],
            [0, 0, 34, 65_535],
            [0, 65_535, 34, 16],
            [0, 1, 34, 16],
        ] {
            for kind in 0..8 {
                for flags in 0..4 {
                    done(&[header(flags, kind, numbers), frame.clone()].concat());
                    done(&header(flags, kind, numbers));
                }
            }
        }
        assert!(done(&[0; HEADER - 1]).is_empty());
        assert!(
            done(&[header(1, LONG_TCP, [0; 4]), frame].concat()).is_empty(),
            "a size of nothing"
        );
    }
}

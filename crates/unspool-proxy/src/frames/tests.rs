//! Frames of every sort, cut anywhere.

use super::Packing::{self, Each, Joint, None as Plain};
use super::{Frames, Unreadable};
use crate::room::{Loss, Room};
use flate2::{Compress, Compression, FlushCompress};
use http::{HeaderMap, HeaderValue};
use std::time::Instant;

const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// A frame with this first byte.
fn frame(first: u8, masked: bool, words: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    let bit = if masked { 0x80 } else { 0 };
    match words.len() {
        length @ 0..126 => frame.push(bit | u8::try_from(length).unwrap()),
        length @ 126..65_536 => {
            frame.push(bit | 0x7e);
            frame.extend(u16::try_from(length).unwrap().to_be_bytes());
        }
        length => {
            frame.push(bit | 0x7f);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    if masked {
        frame.extend(MASK);
        frame.extend(words.iter().enumerate().map(|(n, byte)| byte ^ MASK[n % 4]));
    } else {
        frame.extend(words);
    }
    frame
}

/// Packs as senders do.
fn packed(packer: &mut Compress, words: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(words.len() + 1000);
    packer.compress_vec(words, &mut out, FlushCompress::Sync).unwrap();
    assert!(out.ends_with(&super::TAIL), "{out:?}");
    out.truncate(out.len() - super::TAIL.len());
    out
}

/// What is read of it, however it is cut.
fn read(packing: Packing, bytes: &[u8]) -> Result<Vec<Option<String>>, Unreadable> {
    let step = bytes.len() / 50 + 1;
    let mut all = Vec::new();
    for size in [bytes.len().max(1), 1, 2, 3, 7, step] {
        let mut frames = Frames::new(packing, Room::new(1 << 24, 1 << 20));
        let mut found = Vec::new();
        let mut each = |message: super::Message| {
            found.push(message.text.map(|text| String::from_utf8(text).unwrap()));
        };
        let result = bytes.chunks(size).try_for_each(|piece| frames.read(piece, Instant::now(), &mut each));
        all.push(result.map(|()| found));
    }
    let first = all.remove(0);
    assert!(all.iter().all(|other| *other == first), "{first:?} {all:?}");
    first
}

fn texts(all: &[&str]) -> Vec<Option<String>> {
    all.iter().map(|text| Some((*text).to_string())).collect()
}

#[test]
fn messages_of_every_length_masked_or_not() {
    let words = ["", "a", &"b".repeat(125), &"c".repeat(126), &"d".repeat(65_535), &"e".repeat(65_536)];
    for masked in [false, true] {
        let bytes: Vec<u8> = words.iter().flat_map(|words| frame(0x81, masked, words.as_bytes())).collect();
        assert_eq!(read(Packing::None, &bytes), Ok(texts(&words)));
    }
    // The example of RFC 6455, 5.7.
    let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
    assert_eq!(read(Packing::None, &hello), Ok(texts(&["Hello"])));
}

#[test]
fn parts_make_a_message_and_commands_may_stand_between() {
    let all = [
        frame(0x01, true, b"one "),
        frame(0x89, true, b"ping"),
        frame(0x00, true, b"two "),
        frame(0x8a, true, b""),
        frame(0x80, true, b"three"),
        frame(0x82, true, b"\xff\xfe"),
        frame(0x88, true, b"\x03\xe8"),
    ];
    let expected = Ok(vec![Some("one two three".to_string()), None]);
    assert_eq!(read(Packing::None, &all.concat()), expected, "what is no text is not held");
}

#[test]
fn packed_messages_are_unpacked() {
    let words = ["{\"type\":\"a\",\"delta\":\"Hello\"}", "{\"type\":\"a\",\"delta\":\"Hello\"}", "", "short"];
    for (packing, is_joint) in [(Packing::Joint, true), (Packing::Each, false)] {
        let mut packer = Compress::new(Compression::default(), false);
        let mut bytes = Vec::new();
        let mut lengths = Vec::new();
        for words in words {
            let packed = packed(&mut packer, words.as_bytes());
            lengths.push(packed.len());
            let (first, rest) = packed.split_at(packed.len() / 2);
            bytes.extend(frame(0x41, true, first));
            bytes.extend(frame(0x80, true, rest));
            // Not every message need be packed.
            bytes.extend(frame(0x81, true, words.as_bytes()));
            if !is_joint {
                packer.reset();
            }
        }
        assert_eq!(lengths[1] < lengths[0] / 2, is_joint, "{lengths:?}");
        let twice: Vec<&str> = words.iter().flat_map(|words| [*words; 2]).collect();
        assert_eq!(read(packing, &bytes), Ok(texts(&twice)));
    }
    // The examples of RFC 7692, 7.2.3.1, 7.2.3.2 and 7.2.3.4: one packed, one that refers to it, one that ends its stream.
    let hello = [0xc1, 7, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 7, 0];
    let again = [0xc1, 5, 0xf2, 0, 0x11, 0, 0];
    let ended = [0xc1, 8, 0xf3, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0];
    let all = [&hello[..], &again, &ended].concat();
    assert_eq!(read(Packing::Joint, &all), Ok(texts(&["Hello", "Hello", "Hello"])));
}

#[test]
fn what_nobody_agreed_to_cannot_be_read() {
    for (why, bytes) in [
        ("packed without leave", frame(0xc1, true, b"x")),
        ("a bit of another extension", frame(0xa1, true, b"x")),
        ("another bit", frame(0x91, true, b"x")),
        ("no such frame", frame(0x83, true, b"x")),
        ("no such command", frame(0x8b, true, b"x")),
        ("a command in parts", frame(0x09, true, b"x")),
        ("a long command", frame(0x89, true, &[0; 126])),
        ("a part of nothing", frame(0x80, true, b"x")),
        ("a message within another", [frame(0x01, true, b"x"), frame(0x81, true, b"x")].concat()),
    ] {
        assert_eq!(read(Packing::None, &bytes), Err(Unreadable), "{why}");
    }
    assert_eq!(read(Packing::Joint, &frame(0xc1, true, b"\xff\xff\xff\xff")), Err(Unreadable));
}

/// Reads all, and gives the losses and how much was held at most.
fn losses(packing: Packing, room: &std::sync::Arc<Room>, bytes: &[u8]) -> (Vec<Option<Loss>>, u64) {
    let mut frames = Frames::new(packing, std::sync::Arc::clone(room));
    let (mut losses, mut most) = (Vec::new(), 0);
    for piece in bytes.chunks(1000) {
        let read = frames.read(piece, Instant::now(), &mut |message| losses.push(message.loss));
        assert_eq!(read, Ok(()));
        most = most.max(room.held());
    }
    (losses, most)
}

#[test]
fn what_finds_no_room_is_told_and_read_over() {
    let words: Vec<u8> = (0..30_000_u32).flat_map(u32::to_le_bytes).map(|byte| byte % 64 + 32).collect();
    let mut packer = Compress::new(Compression::default(), false);
    let large = frame(0xc1, true, &packed(&mut packer, &words));
    let after = frame(0xc1, true, &packed(&mut packer, &words[..100]));
    let packed = [large, after].concat();
    let plain = [frame(0x81, false, &words), frame(0x81, false, b"small")].concat();
    for (packing, bytes) in [(Packing::Joint, packed), (Packing::None, plain)] {
        let (few, much) = (Room::new(50_000, 1 << 20), Room::new(1 << 20, 70_000));
        let (lost, held) = losses(packing, &few, &bytes);
        assert_eq!(lost, [Some(Loss::NoRoom), None], "what comes behind it is read");
        assert!(held <= 50_000 && few.held() == 0);
        assert_eq!(losses(packing, &much, &bytes).0, [Some(Loss::TooLarge), None]);
    }
}

#[test]
fn what_unpacks_without_end_is_given_up() {
    let mut packer = Compress::new(Compression::default(), false);
    let zeros = packed(&mut packer, &vec![0; 10 << 20]);
    let mut frames = Frames::new(Packing::Joint, Room::new(1 << 24, 1 << 20));
    assert_eq!(frames.read(&frame(0xc1, true, &zeros), Instant::now(), &mut |_| {}), Err(Unreadable));
}

#[test]
fn noise_stops_nobody() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..2000 {
        let mut frames = Frames::new(Packing::Joint, Room::new(1 << 20, 1 << 16));
        for _ in 0..8 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let mut bytes = state.to_le_bytes();
            // More of it looks like frames.
            bytes[0] = [0x81, 0xc1, 0x01, 0x41, 0x00, 0x80, 0x89, 0x82][usize::from(bytes[0] % 8)];
            bytes[1] &= 0x87;
            if frames.read(&bytes, Instant::now(), &mut |_| {}).is_err() {
                break;
            }
        }
    }
}

#[test]
fn packing_is_as_the_upstream_agreed() {
    let agreed = |said: &[&'static str]| {
        let pairs =
            said.iter().map(|said| (http::header::SEC_WEBSOCKET_EXTENSIONS, HeaderValue::from_static(said)));
        Packing::agreed(&pairs.collect::<HeaderMap>())
    };
    assert_eq!(agreed(&[]), Some([Plain, Plain]));
    assert_eq!(agreed(&["permessage-deflate"]), Some([Joint, Joint]));
    assert_eq!(
        agreed(&["permessage-deflate; client_no_context_takeover;server_max_window_bits=12"]),
        Some([Each, Joint])
    );
    assert_eq!(
        agreed(&["permessage-deflate; server_no_context_takeover; client_no_context_takeover"]),
        Some([Each, Each])
    );
    assert_eq!(agreed(&["permessage-deflate", "x-other"]), None);
}

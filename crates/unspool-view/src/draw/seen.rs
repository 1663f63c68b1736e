//! How colours are seen, by people who see all of them and by people who do not. For tests of the colours.
//!
//! In: colours. Out: whether they are told apart and bear text. Never here: which colours there are.

use super::Colours;

type Triple = [f64; 3];

/// How colours look to people who see all, no red, no green or no blue (Machado, Oliveira and Fernandes 2009, the strongest form).
const EYES: [[Triple; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [
        [0.152_286, 1.052_583, -0.204_868],
        [0.114_503, 0.786_281, 0.099_216],
        [-0.003_882, -0.048_116, 1.051_998],
    ],
    [
        [0.367_322, 0.860_646, -0.227_968],
        [0.280_085, 0.672_501, 0.047_413],
        [-0.011_820, 0.042_940, 0.968_881],
    ],
    [
        [1.255_528, -0.076_749, -0.178_779],
        [-0.078_411, 0.930_809, 0.147_602],
        [0.004_733, 0.691_367, 0.303_900],
    ],
];

fn dot(a: &Triple, b: &Triple) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn linear(hex: &str) -> Triple {
    [1, 3, 5].map(|at| {
        let part = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

fn luminance(hex: &str) -> f64 {
    dot(&linear(hex), &[0.2126, 0.7152, 0.0722])
}

fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
    a.max(b) / a.min(b)
}

fn lab(rgb: Triple) -> Triple {
    let curve = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let x = curve(dot(&rgb, &[0.4124, 0.3576, 0.1805]).max(0.0) / 0.950_47);
    let y = curve(dot(&rgb, &[0.2126, 0.7152, 0.0722]).max(0.0));
    let z = curve(dot(&rgb, &[0.0193, 0.1192, 0.9505]).max(0.0) / 1.088_83);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// The least difference anybody sees.
fn difference(a: &str, b: &str) -> f64 {
    let seen = |eyes: &[Triple; 3], hex: &str| lab(eyes.map(|row| dot(&row, &linear(hex))));
    let apart = |eyes: &[Triple; 3]| {
        let (a, b) = (seen(eyes, a), seen(eyes, b));
        a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    EYES.iter().map(apart).fold(f64::INFINITY, f64::min)
}

/// Every two of these, and each of them and what failed, differ by more than this to everybody; text can be read on them and they on the paper.
pub(crate) fn assert_told_apart(theme: &Colours, all: &[&str], least: f64) {
    for papers in [theme.paper, theme.node] {
        assert!(all.iter().all(|one| contrast(one, papers) >= 4.5), "{all:?} on {papers}");
    }
    let all: Vec<&str> = all.iter().copied().chain([theme.error]).collect();
    for (n, one) in all.iter().enumerate() {
        for other in &all[..n] {
            assert!(difference(one, other) > least, "{one} {other} {}", difference(one, other));
        }
    }
}

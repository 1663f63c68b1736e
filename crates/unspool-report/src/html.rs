//! One HTML file of the page, the answers and the records.
//!
//! In: the built page, the packed answers, and the bytes of a report. Out: a file that needs nothing else, and by its own policy can reach nothing else.

use crate::letters::letters;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::{self, Write};
use xxhash_rust::xxh3::xxh3_128;

/// The built page.
#[derive(Clone, Copy)]
pub struct Page {
    /// The script.
    pub script: &'static str,
    /// The style sheet.
    pub style: &'static str,
    /// What answers, as WebAssembly, packed with deflate.
    pub answers: &'static [u8],
}

/// What the file says about itself.
pub(crate) struct About {
    pub(crate) title: String,
    /// When running was judged, RFC 3339.
    pub(crate) as_of: Option<String>,
    /// Secrets that were masked, if that was asked for.
    pub(crate) masked: Option<u64>,
}

/// Writes the file.
pub(crate) fn html(page: Page, about: &About, report: &[u8]) -> io::Result<Vec<u8>> {
    let packed = pack(report)?;
    // Nobody who wrote into the records can know this beforehand.
    let nonce = format!("{:032x}", xxh3_128(&packed));
    let mut out = Vec::with_capacity(packed.len() / 2 * 3 + page.answers.len() * 2 + page.script.len());
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{nonce}' 'wasm-unsafe-eval'; \
         worker-src blob:; style-src 'nonce-{nonce}'; img-src data: blob:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{}</title>\n<link rel=\"icon\" href=\"data:,\">\n</head>\n<body>\n\
         <div id=\"app\"></div>\n<noscript>This report needs JavaScript to unpack what it shows.</noscript>\n",
        escaped(&about.title),
    )?;
    writeln!(out, "<script type=\"text/plain\" id=\"unspool-answers\">{}</script>", letters(page.answers))?;
    write!(out, "<script type=\"text/plain\" id=\"unspool-records\"")?;
    if let Some(as_of) = &about.as_of {
        write!(out, " data-as-of=\"{}\"", escaped(as_of))?;
    }
    if let Some(masked) = about.masked {
        write!(out, " data-masked=\"{masked}\"")?;
    }
    writeln!(out, ">{}</script>", letters(&packed))?;
    for (name, text) in [("style", page.style), ("script", page.script)] {
        let packed = BASE64.encode(pack(text.as_bytes())?);
        writeln!(out, "<script type=\"text/plain\" id=\"unspool-{name}\">{packed}</script>")?;
    }
    let begin = BEGIN.replace("NONCE", &nonce);
    write!(out, "<script type=\"module\" nonce=\"{nonce}\">{begin}</script>\n</body>\n</html>\n")?;
    Ok(out)
}

/// Unpacks the page's style and script and puts them in force, under the same nonce. These are base64, which a browser reads by itself; the
/// script reads the rest.
const BEGIN: &str = r#"
for (const name of ["style", "script"]) {
  const packed = Uint8Array.from(atob(document.getElementById(`unspool-${name}`).textContent), (letter) => letter.charCodeAt(0));
  const part = document.createElement(name);
  if (name === "script") part.type = "module";
  part.nonce = "NONCE";
  part.textContent = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
  document.body.append(part);
}
"#;

fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes)?;
    packer.finish()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{About, Page, html};

    const PAGE: Page = Page {
        script: "const end = '</script>', open = '<!--<script>';",
        style: "b { content: '</style>' }",
        answers: b"packed",
    };

    fn about(title: &str) -> About {
        About { title: title.into(), as_of: Some("2026-01-02T03:04:05Z".into()), masked: Some(3) }
    }

    #[test]
    fn nothing_ends_its_element_early() {
        let file = html(
            PAGE,
            &about("a </title><script>alert(1)</script> & b"),
            b"</script><script>alert(2)</script>",
        )
        .unwrap();
        let text = String::from_utf8(file).unwrap();
        assert_eq!(text.matches("</script").count(), 5, "{text}");
        assert_eq!(text.matches("<script").count(), 5, "{text}");
        assert_eq!(text.matches("</style").count(), 0);
        assert_eq!(text.matches("alert").count(), 1, "in the title, as text: {text}");
        assert!(
            text.contains("<title>a &lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; b</title>"),
            "{text}"
        );
        assert!(text.contains("data-as-of=\"2026-01-02T03:04:05Z\" data-masked=\"3\""), "{text}");
        assert!(!text.contains("<!--"));
    }

    #[test]
    fn the_same_report_is_the_same_file() {
        let make = |report: &[u8]| html(PAGE, &about("t"), report).unwrap();
        assert_eq!(make(b"one"), make(b"one"));
        assert_ne!(make(b"one"), make(b"two"));
    }
}

//! What is a secret, and what is none.

use super::{KINDS, Masker, Room};

/// Secrets are put together here, so that no other tool takes this file for one.
fn masked(text: &str) -> (String, Vec<(String, u64)>) {
    let mut masker = Masker::default();
    let masked = masker.mask(text.as_bytes(), Room::Any).unwrap_or_else(|| text.into());
    (
        String::from_utf8(masked).unwrap(),
        masker.counts().map(|(name, count)| (name.to_string(), count)).collect(),
    )
}

fn digits(count: usize) -> String {
    "a1B2c3D4e5".chars().cycle().take(count).collect()
}

#[test]
fn every_kind_is_found() {
    let key = |start: &str, count: usize| format!("{start}{}", digits(count));
    let block = format!("-----BEGIN RSA {}-----\n{}\n-----END RSA {0}-----", "PRIVATE KEY", digits(120));
    let web = format!("eyJ{}.eyJ{}.{}", digits(20), digits(30), digits(40));
    let cases: Vec<(&str, String)> = vec![
        ("private-key", block),
        ("anthropic-key", key("sk-ant-api03-", 80)),
        ("openrouter-key", key("sk-or-v1-", 64)),
        ("openai-key", key("sk-proj-", 60)),
        ("openai-key", key("sk-", 48)),
        ("google-key", key("AIza", 35)),
        ("google-token", key("ya29.", 60)),
        ("aws-key-id", format!("AKIA{}", "ABCDEFGH23456789")),
        ("github-token", key("ghp_", 36)),
        ("github-token", key("github_pat_", 60)),
        ("gitlab-token", key("glpat-", 20)),
        ("slack-token", key("xoxb-", 40)),
        ("stripe-key", key("sk_live_", 24)),
        ("hugging-face-token", key("hf_", 34)),
        ("groq-key", key("gsk_", 52)),
        ("xai-key", key("xai-", 80)),
        ("perplexity-key", key("pplx-", 48)),
        ("replicate-token", key("r8_", 37)),
        ("npm-token", key("npm_", 36)),
        ("pypi-token", key("pypi-", 90)),
        ("digitalocean-token", key("dop_v1_", 64)),
        ("sendgrid-key", key("SG.", 66)),
        ("web-token", web),
    ];
    for (kind, secret) in &cases {
        for around in
            [("", ""), ("key ", " end"), ("(", ")"), ("\\n", "\\n"), ("\"", "\""), ("\\u0022", "\\u0022")]
        {
            let text = format!("{}{secret}{}", around.0, around.1);
            let (masked, counts) = masked(&text);
            assert_eq!(masked, format!("{}[redacted:1]{}", around.0, around.1), "{kind} in {text}");
            assert_eq!(counts, [(kind.to_string(), 1)], "{text}");
        }
    }
    let tried: Vec<&str> = cases.iter().map(|(kind, _)| *kind).collect();
    let others = ["bearer-token", "password-in-address", "named-secret", "langfuse-key"];
    for kind in KINDS {
        assert!(tried.contains(&kind.name) || others.contains(&kind.name), "{} is never tried", kind.name);
    }
}

#[test]
fn what_leads_to_a_secret_stays() {
    let secret = digits(24);
    let cases = [
        ("bearer-token", "Authorization: Bearer {}\\r\\n"),
        ("bearer-token", "-H 'authorization: bearer {}'"),
        ("password-in-address", "postgres://app:{}@db.example:5432/shop"),
        ("password-in-address", "https://:{}@host/path"),
        ("named-secret", "export DB_PASSWORD={} && run"),
        ("named-secret", "AWS_SECRET_ACCESS_KEY={}"),
        ("named-secret", "\\\"api_key\\\": \\\"{}\\\""),
        ("named-secret", "{\"clientSecret\":\"{}\",\"n\":1}"),
        ("named-secret", "x-api-key: {}"),
        ("named-secret", "GITHUB_TOKEN: {}"),
        ("named-secret", "password = '{}'"),
        ("named-secret", "X-Refresh-Token: {}"),
        ("named-secret", "\\nX-Auth-Token: {}\\r\\nAccept: */*"),
        ("named-secret", "access-token: {}"),
        ("named-secret", "'client-secret' => 1, 'client-secret': '{}'"),
        ("named-secret", "run --api-key {} --quiet"),
        ("named-secret", "run --token '{}'"),
        ("named-secret", "run --token={}"),
        ("named-secret", "[\"run\",\"--auth-token\", \"{}\",\"-q\"]"),
        ("named-secret", "[\\\"--auth-token\\\",\\\"{}\\\"]"),
        ("named-secret", "GET / HTTP/1.1\\r\\nCookie: s={}\\r\\n\\r\\n"),
        ("named-secret", "curl -H 'Cookie: lang={}' http://h/"),
        ("named-secret", "Set-Cookie: s={}; Path=/; HttpOnly"),
        ("named-secret", "{\"cookie\": \"s={}\"}"),
        ("named-secret", "the line Cookie: s={} is sent"),
        ("langfuse-key", "{}"),
    ];
    for (kind, around) in cases {
        let secret = if kind == "langfuse-key" { format!("sk-lf-{}", digits(36)) } else { secret.clone() };
        let (masked, counts) = masked(&around.replace("{}", &secret));
        assert_eq!(masked, around.replace("{}", "[redacted:1]"), "{around}");
        assert_eq!(counts, [(kind.to_string(), 1)], "{around}");
    }
}

#[test]
fn all_cookies_of_a_line_are_masked_and_names_are_whole() {
    let all = format!("a=1; b={}; c=2", digits(600));
    assert_eq!(masked(&format!("Cookie: {all}\nx")).0, "Cookie: a=[redacted:1]\nx");
    assert_eq!(masked("Cookie: a=b; ").0, "Cookie: a=[redacted:1] ", "nothing of the next is taken");
    assert_eq!(masked("one\\nMY_TOKEN=a1b2c3d4\\ntwo").0, "one\\nMY_TOKEN=[redacted:1]\\ntwo");
}

#[test]
fn what_is_no_secret_stays() {
    let quiet = [
        r#"{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","tool_use_id":"toolu_01A09q90qw90lq917835lq9"}"#,
        r#"{"uuid":"6f1c9e2a-7d6b-4a53-9a10-2b7f0c6d1e11","input_tokens":123456789,"max_tokens":64000}"#,
        r#"{"cache_creation_input_tokens":1200034,"password":null,"secret":true,"api_key":""}"#,
        "a task-force with a very-long-name-of-many-words-1234567890",
        "disk-usage-of-the-old-machine-number-12345",
        "sk-learn-is-a-library-with-a-long-name-and-no-number",
        "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==",
        "http://localhost:8080/users/a@b.example",
        "ssh://git@github.example:22/team/repo",
        "https://user:${PASSWORD}@host and https://user:<password>@host",
        "const password = getPassword2(user1)",
        "password: string; token: abc",
        "function wrap(userPrivateKey: Uint8Array, encryptedPrivateKey: Uint8Array): void",
        "return { privateKey: secp256k1.utils.randomPrivateKey1 }",
        "API_KEY=$OPENAI_API_KEY1 SECRET={{secret1value}}",
        "Bearer of bad news, and a token of appreciation",
        "-----BEGIN PRIVATE KEY----- is how a key begins",
        "-----BEGIN CERTIFICATE-----\\nMIIBszCCARygAwIBAgIJAKDbMZNxeqXgMA0GCSqGSIb3DQEBCwUAMA0xCzAJBgNVBAYT\\n-----END CERTIFICATE-----",
        "eyJhbGciOiJIUzI1NiJ9 alone is no token",
        "AKIA is how a key id begins; AKIAABCDEFGH23456789XYZ is too long",
        "[redacted:1] and api_key=[redacted:2]",
        "The password is required, and the password is base64-encoded with sha256.",
        "Reset your password to continue; passwords: 12 characters or more, 3 of them digits.",
        "password: Uint8Array, oldPassword: utf8String, password: newPassword2, password=user2.password1",
        r#"{"password":"Passwort","confirm_password":"Repeat it!","password2":"********","password":"string"}"#,
        "PWD=/home/user1/project2 OLDPWD=/srv/app1",
        "password_hash: a1b2c3d4 is no password, and passwordless2 neither",
        "--password is a flag, --password <value1> too, and --password $SECRET1",
        "https://h.example/find?key=name&token=abc&sort=asc&page=2",
        "a && password_file=x1y2z3w4 && b",
        "max-tokens: 5, token-count: 12, max-output-tokens: 128000, x-ratelimit-limit-tokens: 40000a1b2c3d4e5f6",
        "run --max-tokens 4096 --api-key-file conf1234.toml --token-count a1b2c3d4e5f6",
        "--api-key is a flag, --api-key $KEY1234567 too, --secret id=app1,src=file1234 and --api-key /run/key1234",
        "--token --verbose1234 and --api-key \"${KEY12345}\"",
        "cookie: string, the cookie: it is eaten; Cookie: <name1>=<value1>, Set-Cookie: ${NAME1}=x",
        "refresh-token: refreshTokenOf(user1) and access-token: string",
        "{\"password\":100000e1,\"n\":\"password\"\r\n\r\n, \"a\":1}",
    ];
    for text in quiet {
        assert_eq!(masked(text), (text.to_string(), vec![]));
    }
}

#[test]
fn equal_secrets_get_equal_tags_everywhere() {
    let (one, other) = (format!("sk-ant-{}", digits(40)), format!("ghp_{}x", digits(40)));
    let mut masker = Masker::default();
    let mask = |masker: &mut Masker, text: &str| {
        String::from_utf8(masker.mask(text.as_bytes(), Room::Any).unwrap()).unwrap()
    };
    assert_eq!(mask(&mut masker, &format!("{one} {other} {one}")), "[redacted:1] [redacted:2] [redacted:1]");
    assert_eq!(mask(&mut masker, &other), "[redacted:2]");
    assert_eq!(masker.different(), 2);
    assert_eq!(masker.counts().collect::<Vec<_>>(), [("anthropic-key", 2), ("github-token", 2)]);
    assert!(masker.mask(b"nothing", Room::Any).is_none());
}

#[test]
fn lengths_stay_where_they_are_written_down() {
    let secret = format!("sk-ant-{}", digits(40));
    let bytes = [b"\x0a\x2f".as_slice(), secret.as_bytes(), b"\x12\x00"].concat();
    let masked = Masker::default().mask(&bytes, Room::Same).unwrap();
    assert_eq!(masked.len(), bytes.len());
    assert!(masked.starts_with(b"\x0a\x2f[redacted:1]***") && masked.ends_with(b"**\x12\x00"));
    let short = Masker::default().mask(b"pg://u:pw@h", Room::Same).unwrap();
    assert_eq!(short, b"pg://u:**@h");
}

#[test]
fn a_block_that_is_cut_off_goes_as_far_as_it_goes() {
    let text = format!("{{\"a\":\"-----BEGIN {}-----\\n{}\\\"\",\"b\":1}}", "PRIVATE KEY", digits(80));
    let (masked, _) = masked(&text);
    assert_eq!(masked, r#"{"a":"[redacted:1]\"","b":1}"#);
}

#[test]
fn passwords_in_words_and_forms_are_masked() {
    for around in [
        "my password is {}.",
        "The Password was `{}`",
        "set the password to {} and go on",
        "user: bob\npassword: {}\nhost: h",
        "Password:{}",
        "db_password={}",
        "mysql --password {} -u root",
        "mysql --db-password={} -u root",
        "{\"password\":\"{}\"}",
        "{\\\"password\\\": \\\"{}\\\"}",
        "login(user='bob', password='{}')",
        "user=bob&password={}&remember=1",
        "password={}&user=bob",
        "https://h.example/login?passwd={}#top",
        "https://h.example/login?a=b&amp;pwd={}",
        "Content-Disposition: form-data; name=\"password\"\r\n\r\n{}\r\n--x",
    ] {
        let (masked, counts) = masked(&around.replace("{}", "hunter2"));
        assert_eq!(masked, around.replace("{}", "[redacted:1]"), "{around}");
        assert_eq!(counts, [("named-secret".to_string(), 1)], "{around}");
    }
    // What a form or a query calls a password is one, whatever it is made of.
    for around in ["user=bob&password={}", "password={}&user=bob", "http://h/?password={}"] {
        assert_eq!(masked(&around.replace("{}", "swordfish")).0, around.replace("{}", "[redacted:1]"));
    }
    let mut masker = Masker::default();
    let form = masker.mask_form(b"password=swordfish&a=b&client_secret=x%20y&api_key=&c").unwrap();
    assert_eq!(form, b"password=[redacted:1]&a=b&client_secret=[redacted:2]&api_key=&c");
    assert!(masker.mask_form(b"a=b").is_none());
}

/// A body may be nothing but names of secrets, each of which could have all that follows for its value. To follow each to the end takes hours,
/// and nobody would wait for this test.
#[test]
fn names_behind_names_are_read_in_no_more_time_than_other_text() {
    for part in
        ["key=", "api_key=", "password:", "password:'", "SG.", "?key=", "--token ", "--token=", "--token"]
    {
        let text = part.repeat((1 << 19) / part.len());
        assert_eq!(masked(&text).0.len(), text.len(), "{part}");
    }
}

#[test]
fn what_is_too_long_for_a_value_is_none() {
    for (before, behind) in
        [("?key=", "&a=b"), ("api_key=\"", "\""), ("password: ", " "), ("password: '", "'")]
    {
        for (length, is_secret) in [(512, true), (513, false), (2000, false)] {
            let text = format!("{before}{}{behind}", digits(length));
            assert_eq!(masked(&text).0.contains("[redacted"), is_secret, "{before}{length}");
        }
    }
}

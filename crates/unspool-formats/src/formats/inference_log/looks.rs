//! Whether a text is an exchange or holds some, by its first keys.

use crate::json::{Json, Kind, Malformed, RawStr};

/// What our own proxy calls what it recorded.
pub(super) const OWN: &[u8] = b"\"exchange\"";

/// What the keys of a value say it is, from as much of it as there is.
#[derive(Default)]
pub(super) struct Looks {
    request: bool,
    response: bool,
    /// Holds exchanges rather than being one.
    pub(super) list: bool,
}

impl Looks {
    pub(super) fn at(bytes: &[u8]) -> Looks {
        let mut looks = Looks::default();
        let mut json = Json::new(bytes);
        match json.kind() {
            // The text may be cut anywhere; what was seen until then counts.
            Ok(Kind::Object) => _ = json.object(|json, key| looks.field(json, key)),
            Ok(Kind::Array) => {
                let _ = json.array(|json| {
                    let mut inner = Looks::default();
                    let read = inner.value(json);
                    looks.list |= inner.exchange();
                    read
                });
            }
            _ => {}
        }
        looks
    }

    /// Whether this is a request with or without its response.
    pub(super) fn exchange(&self) -> bool {
        self.request
    }

    fn value(&mut self, json: &mut Json<'_>) -> Result<(), Malformed> {
        if json.kind()? == Kind::Object {
            json.object(|json, key| self.field(json, key))
        } else {
            json.skip()
        }
    }

    fn field(&mut self, json: &mut Json<'_>, key: &[u8]) -> Result<(), Malformed> {
        match key {
            b"body" | b"request_body" | b"requestBody" => match json.kind()? {
                Kind::Object => json.object(|json, key| self.body_field(json, key)),
                Kind::String => {
                    let text = json.string()?.map(RawStr::decode).unwrap_or_default();
                    let mut inner = Json::new(text.as_bytes());
                    if inner.kind() == Ok(Kind::Object) {
                        let _ = inner.object(|json, key| self.body_field(json, key));
                    }
                    Ok(())
                }
                _ => json.skip(),
            },
            b"request" if json.kind()? == Kind::Object => json.object(|json, key| match key {
                b"body" => match json.kind()? {
                    Kind::Object => json.object(|json, key| self.body_field(json, key)),
                    Kind::String => {
                        self.request = true;
                        json.skip()
                    }
                    _ => json.skip(),
                },
                // As browsers export it.
                b"postData" if json.kind()? == Kind::Object => json.object(|json, key| match key {
                    b"text" => self.field(json, b"body"),
                    _ => json.skip(),
                }),
                _ => self.body_field(json, key),
            }),
            b"log" if json.kind()? == Kind::Object => json.object(|json, key| {
                self.list |= key == b"entries";
                json.skip()
            }),
            b"task_invocations" | b"task_tool_invocation" => {
                self.request = true;
                json.skip()
            }
            b"unspool" => {
                self.request |= json.raw()? == OWN;
                Ok(())
            }
            b"response" | b"response_body" => {
                self.response = true;
                json.skip()
            }
            b"recordings" | b"parent" | b"child" | b"requests" | b"exchanges" | b"entries" => {
                self.list = true;
                json.skip()
            }
            _ => json.skip(),
        }
    }

    fn body_field(&mut self, json: &mut Json<'_>, key: &[u8]) -> Result<(), Malformed> {
        self.request |= matches!(key, b"messages" | b"input" | b"model");
        json.skip()
    }
}

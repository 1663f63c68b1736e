//! Reading fields leniently: a wrong type or a repeated key costs that field a note, never the record.

use crate::json::{Json, Kind, Malformed, RawStr};
use crate::sink::Sink;
use unspool_model::Code;

/// What was odd about the fields of one record: every name once. Only names that a reader looks for come here, so the
/// lists are as short as its list of fields.
#[derive(Default)]
pub(crate) struct Oddities<'a> {
    duplicate: Vec<&'a [u8]>,
    wrong_type: Vec<&'a [u8]>,
}

impl<'a> Oddities<'a> {
    pub(crate) fn report(&self, out: &mut Sink<'_>) {
        self.report_duplicates(out);
        for key in &self.wrong_type {
            out.issue(Code::WrongType, &String::from_utf8_lossy(key));
        }
    }

    pub(crate) fn report_duplicates(&self, out: &mut Sink<'_>) {
        for key in &self.duplicate {
            out.issue(Code::DuplicateKey, &String::from_utf8_lossy(key));
        }
    }

    pub(crate) fn duplicate(&mut self, key: &'a [u8]) {
        add(&mut self.duplicate, key);
    }

    pub(crate) fn wrong_type(&mut self, key: &'a [u8]) {
        add(&mut self.wrong_type, key);
    }

    /// What has a wrong type.
    pub(crate) fn wrong_types(&self) -> &[&'a [u8]] {
        &self.wrong_type
    }

    /// Takes over the names given twice inside a value.
    pub(crate) fn take_duplicates(&mut self, inner: &mut Oddities<'a>) {
        for key in inner.duplicate.drain(..) {
            self.duplicate(key);
        }
    }

    pub(crate) fn text(
        &mut self,
        json: &mut Json<'a>,
        key: &'a [u8],
        slot: &mut Option<RawStr<'a>>,
    ) -> Result<(), Malformed> {
        self.put(json, key, Kind::String, slot, Json::string)
    }

    pub(crate) fn integer(
        &mut self,
        json: &mut Json<'a>,
        key: &'a [u8],
        slot: &mut Option<i64>,
    ) -> Result<(), Malformed> {
        self.put(json, key, Kind::Number, slot, Json::integer)
    }

    pub(crate) fn boolean(
        &mut self,
        json: &mut Json<'a>,
        key: &'a [u8],
        slot: &mut Option<bool>,
    ) -> Result<(), Malformed> {
        self.put(json, key, Kind::Bool, slot, Json::boolean)
    }

    pub(crate) fn raw(
        &mut self,
        json: &mut Json<'a>,
        key: &'a [u8],
        slot: &mut Option<&'a [u8]>,
    ) -> Result<(), Malformed> {
        if slot.is_some() {
            self.duplicate(key);
        }
        *slot = Some(json.raw()?);
        Ok(())
    }

    /// The fields of an object: of one given twice the last counts, and anything but an object or null is left out.
    pub(crate) fn object<T: Default>(
        &mut self,
        json: &mut Json<'a>,
        key: &'a [u8],
        slot: &mut Option<T>,
        mut field: impl FnMut(&mut Self, &mut Json<'a>, &'a [u8], &mut T) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        let kind = json.kind()?;
        if slot.take().is_some() {
            self.duplicate(key);
        }
        if kind == Kind::Object {
            let value = slot.insert(T::default());
            return json.object(|json, key| field(self, json, key, value));
        }
        if kind != Kind::Null {
            self.wrong_type(key);
        }
        json.skip()
    }

    fn put<T>(
        &mut self,
        json: &mut Json<'a>,
        key: &'a [u8],
        wanted: Kind,
        slot: &mut Option<T>,
        read: impl Fn(&mut Json<'a>) -> Result<Option<T>, Malformed>,
    ) -> Result<(), Malformed> {
        let kind = json.kind()?;
        if slot.is_some() {
            self.duplicate(key);
        }
        // The last value counts, also when it is none.
        *slot = None;
        if kind == wanted {
            *slot = read(json)?;
            if slot.is_none() {
                // A number, but none that fits.
                self.wrong_type(key);
            }
            return Ok(());
        }
        if kind != Kind::Null {
            self.wrong_type(key);
        }
        json.skip()
    }
}

#[cold]
fn add<'a>(list: &mut Vec<&'a [u8]>, key: &'a [u8]) {
    if !list.contains(&key) {
        list.push(key);
    }
}

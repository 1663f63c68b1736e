//! Reading fields leniently: a wrong type or a repeated key costs that field a note, never the record.

use crate::json::{Json, Kind, Malformed, RawStr};
use crate::sink::Sink;
use unspool_model::Code;

/// What was odd about the fields of one record; the first name of each sort is enough.
#[derive(Default)]
pub(crate) struct Oddities<'a> {
    duplicate: Option<&'a [u8]>,
    wrong_type: Option<&'a [u8]>,
}

impl<'a> Oddities<'a> {
    pub(crate) fn report(&self, out: &mut Sink<'_>) {
        for (code, key) in [(Code::DuplicateKey, self.duplicate), (Code::WrongType, self.wrong_type)] {
            if let Some(key) = key {
                out.issue(code, &String::from_utf8_lossy(key));
            }
        }
    }

    pub(crate) fn duplicate(&mut self, key: &'a [u8]) {
        self.duplicate.get_or_insert(key);
    }

    pub(crate) fn wrong_type(&mut self, key: &'a [u8]) {
        self.wrong_type.get_or_insert(key);
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
            self.duplicate.get_or_insert(key);
        }
        *slot = Some(json.raw()?);
        Ok(())
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
            self.duplicate.get_or_insert(key);
        }
        // The last value counts, also when it is none.
        *slot = None;
        if kind == wanted {
            *slot = read(json)?;
            if slot.is_none() {
                // A number, but none that fits.
                self.wrong_type.get_or_insert(key);
            }
            return Ok(());
        }
        if kind != Kind::Null {
            self.wrong_type.get_or_insert(key);
        }
        json.skip()
    }
}

//! The instructions of a pickle, as far as a table of tensors needs them. Nothing is called: what Python would call is
//! one of three names, and each is known here as the value that it makes.

use std::{collections::HashMap, sync::Arc};

use proctor_vocabulary::ElementType;

use super::error::TorchError;

/// Number of a value in its pickle.
pub(super) type Id = usize;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    None,
    Flag(bool),
    /// Of at most 16 bytes: the mark at the beginning of the old form takes ten.
    Int(i128),
    /// A text, which other values may share.
    Text(Arc<str>),
    Tuple(Vec<Id>),
    List(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// A name that Python would look up.
    Global(Global),
    Storage(StorageRef),
    Tensor(View),
}

/// The names that a table of tensors consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Global {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    StorageType(ElementType),
}

/// Values in a row, which lie elsewhere in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StorageRef {
    pub(super) key: Arc<str>,
    pub(super) element: ElementType,
    pub(super) count: usize,
}

/// A tensor: a part of a storage. Offset and strides count elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub(super) storage: StorageRef,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

/// A pickle that was read: all its values, and which of them it stands for.
#[derive(Debug)]
pub(super) struct Pickle {
    items: Vec<Item>,
    result: Id,
    /// Number of bytes that it takes.
    pub(super) size_bytes: usize,
}

/// Maximum number of dimensions of a tensor, and of arguments of a call.
const FEW: usize = 32;

const STORAGES: [(&str, ElementType); 10] = [
    ("FloatStorage", ElementType::F32),
    ("DoubleStorage", ElementType::F64),
    ("HalfStorage", ElementType::F16),
    ("BFloat16Storage", ElementType::Bf16),
    ("LongStorage", ElementType::I64),
    ("IntStorage", ElementType::I32),
    ("ShortStorage", ElementType::I16),
    ("CharStorage", ElementType::I8),
    ("ByteStorage", ElementType::U8),
    ("BoolStorage", ElementType::Bool),
];

impl Global {
    fn find(module: &str, name: &str) -> Result<Self, TorchError> {
        let refused = || TorchError::Refused { module: module.to_owned(), name: name.to_owned() };
        match (module, name) {
            ("collections", "OrderedDict") => Ok(Self::OrderedDict),
            ("torch._utils", "_rebuild_tensor_v2") => Ok(Self::RebuildTensor),
            ("torch._utils", "_rebuild_parameter") => Ok(Self::RebuildParameter),
            ("torch", storage) => {
                let known = STORAGES.iter().find(|(known, _)| *known == storage);
                known.map(|(_, element)| Self::StorageType(*element)).ok_or_else(refused)
            }
            _ => Err(refused()),
        }
    }
}

impl Pickle {
    /// Reads the pickle at the beginning of `data`.
    pub(super) fn read(data: &[u8]) -> Result<Self, TorchError> {
        let mut machine = Machine {
            data,
            at: 0,
            items: Vec::new(),
            stack: Vec::new(),
            marks: vec![],
            memo: HashMap::new(),
        };
        let result = machine.run()?;
        Ok(Self { items: machine.items, result, size_bytes: machine.at })
    }

    /// Returns the value that the pickle stands for.
    pub(super) fn result(&self) -> &Item {
        &self.items[self.result]
    }

    /// Returns a value by its number.
    pub(super) fn item(&self, id: Id) -> &Item {
        &self.items[id]
    }

    /// Returns the storages that tensors of the pickle lie in.
    pub(super) fn storages(&self) -> impl Iterator<Item = &StorageRef> {
        self.items
            .iter()
            .filter_map(|item| if let Item::Storage(storage) = item { Some(storage) } else { None })
    }
}

/// The state of a pickle that is being read. Values have numbers, so one that holds itself does no harm.
struct Machine<'a> {
    data: &'a [u8],
    at: usize,
    items: Vec<Item>,
    stack: Vec<Id>,
    /// Heights of the stack at the marks.
    marks: Vec<usize>,
    memo: HashMap<u32, Id>,
}

impl<'a> Machine<'a> {
    fn run(&mut self) -> Result<Id, TorchError> {
        loop {
            let at = self.at;
            let [opcode] = self.array()?;
            match opcode {
                b'.' => return self.pop(),
                // The version, and the size of a frame, which a reader of memory does not need.
                0x80 => self.array::<1>().map(drop)?,
                0x95 => self.array::<8>().map(drop)?,
                b'(' => self.marks.push(self.stack.len()),
                _ if self.constant(opcode)? || self.collection(opcode)? || self.memory(opcode)? => {}
                b'c' => {
                    let (module, name) = (self.line()?, self.line()?);
                    self.global(module, name)?;
                }
                // The old way to make an object of a class, which is named like a global.
                b'i' => {
                    let (module, name) = (self.line()?, self.line()?);
                    return Err(TorchError::Refused { module: module.to_owned(), name: name.to_owned() });
                }
                0x93 => {
                    let (name, module) = (self.pop_text()?, self.pop_text()?);
                    self.global(&module, &name)?;
                }
                b'Q' => self.storage()?,
                b'R' => self.reduce()?,
                b'b' => self.build()?,
                opcode => return Err(TorchError::Opcode { at, opcode }),
            }
        }
    }

    /// Follows an instruction that pushes a value of its own bytes; returns whether it is one.
    fn constant(&mut self, opcode: u8) -> Result<bool, TorchError> {
        let item = match opcode {
            b'N' => Item::None,
            0x88 => Item::Flag(true),
            0x89 => Item::Flag(false),
            b'J' => Item::Int(i32::from_le_bytes(self.array()?).into()),
            b'K' => Item::Int(u8::from_le_bytes(self.array()?).into()),
            b'M' => Item::Int(u16::from_le_bytes(self.array()?).into()),
            0x8a => {
                let [size] = self.array()?;
                self.long(size.into())?
            }
            b'X' | b'T' => {
                let size = u32::from_le_bytes(self.array()?);
                self.text(size as usize)?
            }
            0x8c | b'U' => {
                let [size] = self.array()?;
                self.text(size.into())?
            }
            b'}' => Item::Dict(Vec::new()),
            b']' => Item::List(Vec::new()),
            b')' => Item::Tuple(Vec::new()),
            _ => return Ok(false),
        };
        self.push(item);
        Ok(true)
    }

    /// Follows an instruction that puts values into another; returns whether it is one.
    fn collection(&mut self, opcode: u8) -> Result<bool, TorchError> {
        match opcode {
            0x85..=0x87 => {
                let elements = self.pop_many(usize::from(opcode - 0x84))?;
                self.push(Item::Tuple(elements));
            }
            b't' => {
                let elements = self.pop_to_mark()?;
                self.push(Item::Tuple(elements));
            }
            b'a' => {
                let elements = self.pop_many(1)?;
                self.append(elements)?;
            }
            b'e' => {
                let elements = self.pop_to_mark()?;
                self.append(elements)?;
            }
            b's' => {
                let elements = self.pop_many(2)?;
                self.set(&elements)?;
            }
            b'u' => {
                let elements = self.pop_to_mark()?;
                self.set(&elements)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Follows an instruction that keeps a value, or pushes a kept one again; returns whether it is one.
    fn memory(&mut self, opcode: u8) -> Result<bool, TorchError> {
        match opcode {
            b'q' | b'r' | 0x94 => {
                let index = match opcode {
                    b'q' => u8::from_le_bytes(self.array()?).into(),
                    b'r' => u32::from_le_bytes(self.array()?),
                    _ => u32::try_from(self.memo.len())
                        .map_err(|_| self.damaged("too many values are kept"))?,
                };
                let id = self.top()?;
                self.memo.insert(index, id);
            }
            b'h' | b'j' => {
                let index = match opcode {
                    b'h' => u8::from_le_bytes(self.array()?).into(),
                    _ => u32::from_le_bytes(self.array()?),
                };
                let id = self.memo.get(&index).copied();
                self.stack.push(id.ok_or_else(|| self.damaged("no value was kept under this number"))?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns an integer of some bytes, the lowest first, in two's complement.
    fn long(&mut self, size: usize) -> Result<Item, TorchError> {
        let bytes = self.take(size)?;
        if size > size_of::<i128>() {
            return Err(self.damaged("an integer has more than 16 bytes"));
        }
        let sign = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
        let mut extended = [sign; size_of::<i128>()];
        extended[..size].copy_from_slice(bytes);
        Ok(Item::Int(i128::from_le_bytes(extended)))
    }

    fn text(&mut self, size: usize) -> Result<Item, TorchError> {
        let bytes = self.take(size)?;
        let text = str::from_utf8(bytes).map_err(|_| self.damaged("a text is not UTF-8"))?;
        Ok(Item::Text(text.into()))
    }

    fn global(&mut self, module: &str, name: &str) -> Result<(), TorchError> {
        let global = Global::find(module, name)?;
        self.push(Item::Global(global));
        Ok(())
    }

    fn append(&mut self, mut elements: Vec<Id>) -> Result<(), TorchError> {
        match self.top_item()? {
            Item::List(list) => list.append(&mut elements),
            _ => return Err(self.damaged("something is appended to what is no list")),
        }
        Ok(())
    }

    fn set(&mut self, elements: &[Id]) -> Result<(), TorchError> {
        let (pairs, []) = elements.as_chunks::<2>() else { return Err(self.damaged("a key has no value")) };
        match self.top_item()? {
            Item::Dict(dict) => dict.extend(pairs.iter().map(|[key, value]| (*key, *value))),
            _ => return Err(self.damaged("a key is set in what is no dict")),
        }
        Ok(())
    }

    /// Makes a storage of the tuple `("storage", type, key, device, count)`, behind which the old form has None.
    fn storage(&mut self) -> Result<(), TorchError> {
        let id = self.pop()?;
        let Item::Tuple(fields) = &self.items[id] else {
            return Err(self.damaged("a reference beyond the pickle is no tuple"));
        };
        let fields = self.few(fields).unwrap_or_default();
        let [
            Item::Text(kind),
            Item::Global(Global::StorageType(element)),
            Item::Text(key),
            _,
            Item::Int(count),
            rest @ ..,
        ] = &fields[..]
        else {
            return Err(self.damaged("a reference beyond the pickle is no storage"));
        };
        let is_whole = matches!(rest, [] | [Item::None]);
        let count = usize::try_from(*count).ok().filter(|_| &**kind == "storage" && is_whole);
        let Some(count) = count else {
            return Err(self.damaged("a reference beyond the pickle is no whole storage"));
        };
        let storage = StorageRef { key: key.clone(), element: *element, count };
        self.push(Item::Storage(storage));
        Ok(())
    }

    /// Makes what Python would get from a call.
    fn reduce(&mut self) -> Result<(), TorchError> {
        let (arguments, callable) = (self.pop()?, self.pop()?);
        let Item::Tuple(arguments) = &self.items[arguments] else {
            return Err(self.damaged("the arguments of a call are no tuple"));
        };
        let arguments = self.few(arguments).ok_or_else(|| self.damaged("a call has too many arguments"))?;
        let made = match (&self.items[callable], &arguments[..]) {
            (Item::Global(Global::OrderedDict), []) => Some(Item::Dict(Vec::new())),
            (Item::Global(Global::RebuildTensor), [storage, offset, shape, strides, ..]) => {
                self.view(storage, offset, shape, strides).map(Item::Tensor)
            }
            (Item::Global(Global::RebuildParameter), [Item::Tensor(view), ..]) => {
                Some(Item::Tensor(view.clone()))
            }
            _ => None,
        };
        let made = made.ok_or_else(|| self.damaged("a call makes neither a dict nor a tensor"))?;
        self.push(made);
        Ok(())
    }

    fn view(&self, storage: &Item, offset: &Item, shape: &Item, strides: &Item) -> Option<View> {
        let Item::Storage(storage) = storage else { return None };
        let size = |item: &Item| if let Item::Int(size) = item { usize::try_from(*size).ok() } else { None };
        let sizes = |item: &Item| match item {
            Item::Tuple(sizes) => self.few(sizes)?.into_iter().map(size).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        let (offset, shape, strides) = (size(offset)?, sizes(shape)?, sizes(strides)?);
        (shape.len() == strides.len()).then(|| View { storage: storage.clone(), offset, shape, strides })
    }

    /// Returns the values of a tuple, if they are not more than any tensor needs. A tuple can be used again and again,
    /// and so must not cost more than its instructions.
    fn few(&self, ids: &[Id]) -> Option<Vec<&Item>> {
        (ids.len() <= FEW).then(|| ids.iter().map(|id| &self.items[*id]).collect())
    }

    /// Steps over the state of an ordered dict, in which PyTorch keeps the versions of modules.
    fn build(&mut self) -> Result<(), TorchError> {
        self.pop()?;
        match self.top_item()? {
            Item::Dict(_) => Ok(()),
            _ => Err(self.damaged("a state is set in what is no dict")),
        }
    }

    fn push(&mut self, item: Item) {
        self.stack.push(self.items.len());
        self.items.push(item);
    }

    /// Takes the top of the stack, which must lie above the last mark.
    fn pop(&mut self) -> Result<Id, TorchError> {
        let id = self.top()?;
        self.stack.pop();
        Ok(id)
    }

    fn pop_text(&mut self) -> Result<Arc<str>, TorchError> {
        let id = self.pop()?;
        match &self.items[id] {
            Item::Text(text) => Ok(text.clone()),
            _ => Err(self.damaged("a name is no text")),
        }
    }

    fn pop_many(&mut self, count: usize) -> Result<Vec<Id>, TorchError> {
        let base = self.marks.last().copied().unwrap_or(0);
        let start = self.stack.len().checked_sub(count).filter(|start| *start >= base);
        let start = start.ok_or_else(|| self.damaged("fewer values than an instruction takes"))?;
        Ok(self.stack.split_off(start))
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>, TorchError> {
        let mark = self.marks.pop().ok_or_else(|| self.damaged("there is no mark"))?;
        Ok(self.stack.split_off(mark))
    }

    fn top(&self) -> Result<Id, TorchError> {
        let base = self.marks.last().copied().unwrap_or(0);
        let id = self.stack.get(base..).and_then(<[Id]>::last).copied();
        id.ok_or_else(|| self.damaged("fewer values than an instruction takes"))
    }

    fn top_item(&mut self) -> Result<&mut Item, TorchError> {
        let id = self.top()?;
        Ok(&mut self.items[id])
    }

    fn line(&mut self) -> Result<&'a str, TorchError> {
        let rest = &self.data[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').ok_or(TorchError::CutShort("a pickle"))?;
        self.at += length + 1;
        str::from_utf8(&rest[..length]).map_err(|_| self.damaged("a name is not UTF-8"))
    }

    fn take(&mut self, size: usize) -> Result<&'a [u8], TorchError> {
        let bytes = self.data[self.at..].get(..size).ok_or(TorchError::CutShort("a pickle"))?;
        self.at += size;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TorchError> {
        let bytes = self.data[self.at..].first_chunk::<N>().ok_or(TorchError::CutShort("a pickle"))?;
        self.at += N;
        Ok(*bytes)
    }

    fn damaged(&self, what: &'static str) -> TorchError {
        TorchError::Damaged { at: self.at, what }
    }
}

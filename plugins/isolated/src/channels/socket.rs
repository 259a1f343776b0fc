//! Messages between two processes, with file descriptors attached.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::{
    cmsg_space,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType, recv, recvmsg, send, sendmsg,
        shutdown, socketpair,
        sockopt::{Timeout, set_socket_timeout},
    },
};
use serde::{Serialize, de::DeserializeOwned};

/// Maximum number of files attached to a message.
const FILES_MAX: usize = 4;

/// A kind of message. Its limit bounds the memory that a forged message can cost the receiver: a decoded message takes
/// at most some thirty times its bytes, as if each byte of it were an empty text in a list.
pub trait Message: Serialize + DeserializeOwned {
    /// Longest message of this kind, in bytes.
    const BYTES_MAX: usize;
}

/// One end of a way for messages. Each is sent whole, from any thread; at most one thread receives at a time.
#[derive(Debug)]
pub struct Socket {
    file: OwnedFd,
    /// Held while a message is sent, which takes several calls of the system.
    sending: Mutex<()>,
    /// Longest time that the rest of a message may take.
    limit: Duration,
}

impl From<OwnedFd> for Socket {
    fn from(file: OwnedFd) -> Self {
        Self { file, sending: Mutex::new(()), limit: Duration::MAX }
    }
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> Self {
        socket.file
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Socket {
    /// Returns both ends of a new way.
    ///
    /// # Errors
    /// If the system has no room for it.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok((one.into(), other.into()))
    }

    /// Returns the same end, where what is received comes whole within about this time, once it has begun.
    ///
    /// # Errors
    /// If the system cannot do that.
    pub(crate) fn with_limit(self, limit: Duration) -> io::Result<Self> {
        set_socket_timeout(&self.file, Timeout::Recv, Some(limit))?;
        Ok(Self { limit, ..self })
    }

    /// Sends a message, with at most four files.
    ///
    /// # Errors
    /// If the other end is closed; `InvalidInput`, and nothing is sent, if the message is too long.
    pub fn send<T: Message>(&self, message: &T, files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
        let length = u32::try_from(body.len()).ok().filter(|length| *length as usize <= T::BYTES_MAX);
        let too_long = || io::Error::new(io::ErrorKind::InvalidInput, too_long::<T>(body.len()));
        let length = length.ok_or_else(too_long)?;
        let head = length.to_le_bytes();
        let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FILES_MAX))];
        let mut beside = SendAncillaryBuffer::new(&mut room);
        if !files.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(files)) {
            return Err(io::Error::other("a message has too many files"));
        }
        let _alone = self.sending.lock();
        // So that the other end cannot be sent a part of the head, which would part it from its files.
        let sent = sendmsg(&self.file, &[IoSlice::new(&head)], &mut beside, SendFlags::NOSIGNAL)?;
        if sent != head.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let mut rest = body.as_slice();
        while !rest.is_empty() {
            match send(&self.file, rest, SendFlags::NOSIGNAL) {
                Ok(count) => rest = &rest[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits for a message, and returns it with its files; `None` if the other end is closed.
    ///
    /// # Errors
    /// If the bytes received are not a valid message.
    pub fn receive<T: Message>(&self) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
        let mut head = [0; 4];
        let mut files = Vec::new();
        if !self.receive_head(&mut head, &mut files)? {
            return Ok(None);
        }
        let length = u32::from_le_bytes(head) as usize;
        if length > T::BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, too_long::<T>(length)));
        }
        let begin = Instant::now();
        // Grows as it comes: a length alone must not take memory.
        let mut body = Vec::new();
        let mut piece = vec![0; length.min(1 << 16)];
        while body.len() < length {
            // One byte now and then is no message either.
            if begin.elapsed() > self.limit {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let wanted = piece.len().min(length - body.len());
            match recv(&self.file, &mut piece[..wanted], RecvFlags::empty()) {
                Ok((_, 0)) => return Ok(None),
                Ok((_, count)) => body.extend_from_slice(&piece[..count]),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let message = postcard::from_bytes(&body);
        message.map(|message| Some((message, files))).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("a message cannot be read: {error}"))
        })
    }

    /// Fills `head`, and takes the files that come with it; `false` if the other end is closed.
    fn receive_head(&self, head: &mut [u8; 4], files: &mut Vec<OwnedFd>) -> io::Result<bool> {
        let mut filled = 0;
        while filled < head.len() {
            let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(FILES_MAX))];
            let mut beside = RecvAncillaryBuffer::new(&mut room);
            let mut places = [IoSliceMut::new(&mut head[filled..])];
            match recvmsg(&self.file, &mut places, &mut beside, RecvFlags::CMSG_CLOEXEC) {
                Ok(message) if message.bytes == 0 => return Ok(false),
                Ok(message) => filled += message.bytes,
                Err(rustix::io::Errno::INTR) => continue,
                Err(rustix::io::Errno::CONNRESET) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            for message in beside.drain() {
                if let RecvAncillaryMessage::ScmRights(received) = message {
                    files.extend(received);
                }
            }
        }
        Ok(true)
    }

    /// Ends it in both directions: a thread that waits for a message gets none.
    pub(crate) fn shut_down(&self) {
        // An error means that it has ended.
        let _ = shutdown(&self.file, Shutdown::Both);
    }
}

fn too_long<T: Message>(length: usize) -> String {
    format!("a message of {length} bytes, where {} are the most", T::BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Read as _, thread};

    use super::*;

    impl Message for Vec<u64> {
        const BYTES_MAX: usize = 1 << 20;
    }

    impl Message for String {
        const BYTES_MAX: usize = 1000;
    }

    impl Message for u64 {
        const BYTES_MAX: usize = 10;
    }

    #[test]
    fn the_rest_of_a_message_is_not_waited_for_without_end() {
        let (one, other) = Socket::pair().unwrap();
        let other = other.with_limit(Duration::from_millis(50)).unwrap();
        assert_eq!(send(&one.file, &[9, 0, 0, 0, 1], SendFlags::empty()).unwrap(), 5);
        assert!(other.receive::<String>().is_err());
        // Nor where it trickles.
        let (one, other) = Socket::pair().unwrap();
        let other = other.with_limit(Duration::from_millis(50)).unwrap();
        assert_eq!(send(&one.file, &1000_u32.to_le_bytes(), SendFlags::empty()).unwrap(), 4);
        thread::scope(|scope| {
            scope.spawn(|| {
                while send(&one.file, b"x", SendFlags::NOSIGNAL).is_ok() {
                    thread::sleep(Duration::from_millis(10));
                }
            });
            assert!(other.receive::<String>().is_err());
            other.shut_down();
        });
    }

    #[test]
    fn messages_of_any_length_come_with_their_files() {
        let (one, other) = Socket::pair().unwrap();
        let long: Vec<u64> = (0..100_000).collect();
        thread::scope(|scope| {
            scope.spawn(|| {
                let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
                one.send(&long, &[]).unwrap();
                one.send(&vec![1_u64], &[file.as_fd()]).unwrap();
                one.shut_down();
            });
            let (message, files) = other.receive::<Vec<u64>>().unwrap().unwrap();
            assert_eq!((message.len(), files.len()), (100_000, 0));
            let (message, mut files) = other.receive::<Vec<u64>>().unwrap().unwrap();
            assert_eq!((message, files.len()), (vec![1], 1));
            let mut text = String::new();
            File::from(files.remove(0)).read_to_string(&mut text).unwrap();
            assert!(text.contains("proctor-isolated"));
            assert!(other.receive::<Vec<u64>>().unwrap().is_none());
        });
    }

    #[test]
    fn messages_of_several_threads_do_not_mix() {
        let (one, other) = Socket::pair().unwrap();
        thread::scope(|scope| {
            let senders = [1_u64, 2].map(|number| {
                let one = &one;
                scope.spawn(move || (0..200).for_each(|_| one.send(&vec![number; 20_000], &[]).unwrap()))
            });
            for _ in 0..400 {
                let (message, _) = other.receive::<Vec<u64>>().unwrap().unwrap();
                assert!(message.len() == 20_000 && message.iter().all(|number| *number == message[0]));
            }
            for sender in senders {
                sender.join().unwrap();
            }
        });
    }

    #[test]
    fn what_is_no_message_is_an_error_and_takes_no_memory() {
        let (one, other) = Socket::pair().unwrap();
        send(&one, &11_u32.to_le_bytes(), SendFlags::empty()).unwrap();
        let error = other.receive::<u64>().unwrap_err();
        assert_eq!(error.to_string(), "a message of 11 bytes, where 10 are the most");
        // Too long a message is not sent in part.
        let error = one.send(&"x".repeat(1000), &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        one.send(&"whole".to_owned(), &[]).unwrap();
        assert_eq!(other.receive::<String>().unwrap().unwrap().0, "whole");
        let (one, other) = Socket::pair().unwrap();
        one.send(&u64::MAX, &[]).unwrap();
        assert!(other.receive::<String>().unwrap_err().to_string().starts_with("a message cannot be read"));
    }
}

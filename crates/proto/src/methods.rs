//! What engines of several protocols do alike, each method by the fields that it is about.

/// Methods of [`Requester`](crate::engine::Requester) and [`Responder`](crate::engine::Responder).
macro_rules! method {
    (allow) => {
        #[inline]
        fn allow(&mut self, window: u32) {
            self.allowed = window;
        }
    };
    (is_error) => {
        #[inline]
        fn is_error(&self) -> bool {
            self.failed.is_some()
        }
    };
    (counters: $counters:ty) => {
        #[inline]
        fn counters(&self) -> $counters {
            self.counters
        }
    };
    (poll_completion: $works:ident) => {
        #[inline]
        fn poll_completion(&mut self) -> Option<Completion> {
            if let Some(id) = self.$works.pop_done() {
                return Some(Completion { id, status: Status::Success });
            }
            let status = self.failed?;
            let id = self.$works.pop_failed()?;
            self.failed = Some(Status::Flushed);
            Some(Completion { id, status })
        }
    };
    (poll_message: $done:ident) => {
        #[inline]
        fn has_messages(&self) -> bool {
            !self.$done.is_empty()
        }

        #[inline]
        fn poll_message(&mut self) -> Option<Message> {
            self.$done.pop_front()
        }
    };
}

/// Methods of packets that carry data and keep `opcode`, `payload_len` and `imm`.
macro_rules! payload_methods {
    () => {
        /// The same with immediate data; they count only if the opcode has them.
        #[inline]
        pub const fn with_imm(mut self, imm: u32) -> Self {
            self.imm = imm;
            self
        }

        /// The same with that much payload.
        #[inline]
        pub const fn with_payload(mut self, len: u16) -> Self {
            self.payload_len = len;
            self
        }

        /// The immediate data, if the opcode has them.
        #[inline]
        pub const fn imm(&self) -> Option<u32> {
            if self.opcode.has_imm() { Some(self.imm) } else { None }
        }
    };
}

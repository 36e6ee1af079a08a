//! The two tc filter programs, in classic BPF (`linux/filter.h`).

/// Program of the redirect: matches all frames except untagged ones with `ethertype`.
///
/// The kernel strips VLAN tags before filters run. A tagged frame is never a link frame.
pub(super) fn all_but(ethertype: u16) -> Vec<u8> {
    encode(&[
        Instruction { code: LOAD_WORD, jump: [0, 0], k: TAG_PRESENT },
        Instruction { code: JUMP_EQUAL, jump: [0, 2], k: 0 },
        Instruction { code: LOAD_HALF, jump: [0, 0], k: ETHERTYPE_OFFSET },
        Instruction { code: JUMP_EQUAL, jump: [1, 0], k: u32::from(ethertype) },
        Instruction { code: RETURN, jump: [0, 0], k: MATCH },
        Instruction { code: RETURN, jump: [0, 0], k: NO_MATCH },
    ])
}

/// Returns the excluded `EtherType` if `program` was made by [`all_but`].
pub(super) fn excluded_ethertype(program: &[u8]) -> Option<u16> {
    let operand = program.get(3 * INSTRUCTION_BYTES + 4..4 * INSTRUCTION_BYTES)?;
    let ethertype = u16::try_from(u32::from_ne_bytes(operand.try_into().ok()?)).ok()?;
    (program == all_but(ethertype)).then_some(ethertype)
}

/// Program that drops every frame. Its result is the action itself (`TCA_BPF_FLAG_ACT_DIRECT`).
pub(super) fn drop_all() -> Vec<u8> {
    encode(&[Instruction { code: RETURN, jump: [0, 0], k: TC_ACT_SHOT }])
}

pub(super) fn instructions(program: &[u8]) -> u16 {
    (program.len() / INSTRUCTION_BYTES) as u16
}

/// `struct sock_filter`.
struct Instruction {
    code: u16,
    /// Instructions to skip if the comparison is true, and if it is false.
    jump: [u8; 2],
    k: u32,
}

const INSTRUCTION_BYTES: usize = 8;
const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const LOAD_HALF: u16 = (libc::BPF_LD | libc::BPF_H | libc::BPF_ABS) as u16;
const JUMP_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
/// Pseudo-address of the flag that the kernel has stripped a VLAN tag.
const TAG_PRESENT: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG_PRESENT) as u32;
const ETHERTYPE_OFFSET: u32 = 12;
/// The frame matches and gets the class of the filter.
const MATCH: u32 = u32::MAX;
const NO_MATCH: u32 = 0;
const TC_ACT_SHOT: u32 = 2;

fn encode(program: &[Instruction]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * INSTRUCTION_BYTES);
    for Instruction { code, jump, k } in program {
        bytes.extend_from_slice(&code.to_ne_bytes());
        bytes.extend_from_slice(jump);
        bytes.extend_from_slice(&k.to_ne_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_programs_are_recognised() {
        assert_eq!(excluded_ethertype(&all_but(0x88B5)), Some(0x88B5));
        assert_eq!(excluded_ethertype(&drop_all()), None);
        let mut other = all_but(0x88B5);
        other[1] ^= 1;
        assert_eq!(excluded_ethertype(&other), None);
        assert_eq!(excluded_ethertype(&other[..20]), None);
    }
}

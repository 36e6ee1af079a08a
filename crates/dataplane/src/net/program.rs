//! The two filter programs, in the kernel's classic instructions (`linux/filter.h`), and how they are recognised.

/// Which frames a redirect takes: all but the untagged ones of one `EtherType`.
///
/// The kernel takes a VLAN tag out of a frame before filters see it, so the type behind the addresses is then that of the
/// tag's content: a tagged frame is never one of the link's, whatever it carries.
pub(super) fn all_but(ethertype: u16) -> Vec<u8> {
    encode(&[
        Instruction { code: LOAD_WORD, jump: [0, 0], k: TAG_PRESENT },
        Instruction { code: JUMP_EQUAL, jump: [0, 2], k: 0 },
        Instruction { code: LOAD_HALF, jump: [0, 0], k: ETHERTYPE_AT },
        Instruction { code: JUMP_EQUAL, jump: [1, 0], k: u32::from(ethertype) },
        Instruction { code: RETURN, jump: [0, 0], k: MATCH },
        Instruction { code: RETURN, jump: [0, 0], k: NO_MATCH },
    ])
}

/// The `EtherType` that is left out, if `program` is one of [`all_but`].
pub(super) fn left_out(program: &[u8]) -> Option<u16> {
    let operand = program.get(3 * INSTRUCTION + 4..4 * INSTRUCTION)?;
    let ethertype = u16::try_from(u32::from_ne_bytes(operand.try_into().ok()?)).ok()?;
    (program == all_but(ethertype)).then_some(ethertype)
}

/// Ends every frame. The filter it belongs to takes the result as the verdict itself (`TCA_BPF_FLAG_ACT_DIRECT`).
pub(super) fn drop_all() -> Vec<u8> {
    encode(&[Instruction { code: RETURN, jump: [0, 0], k: TC_ACT_SHOT }])
}

/// How many instructions a program has.
pub(super) fn instructions(program: &[u8]) -> u16 {
    (program.len() / INSTRUCTION) as u16
}

/// `struct sock_filter`.
struct Instruction {
    code: u16,
    /// Instructions to skip if a comparison holds, and if it does not.
    jump: [u8; 2],
    k: u32,
}

const INSTRUCTION: usize = 8;
const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const LOAD_HALF: u16 = (libc::BPF_LD | libc::BPF_H | libc::BPF_ABS) as u16;
const JUMP_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
/// An address outside of the frame at which the kernel says whether it took a tag out.
const TAG_PRESENT: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG_PRESENT) as u32;
const ETHERTYPE_AT: u32 = 12;
/// "Matches, and is of the filter's own class."
const MATCH: u32 = u32::MAX;
const NO_MATCH: u32 = 0;
const TC_ACT_SHOT: u32 = 2;

fn encode(program: &[Instruction]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * INSTRUCTION);
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
    fn own_programs_are_recognised_and_others_are_not() {
        assert_eq!(left_out(&all_but(0x88B5)), Some(0x88B5));
        assert_eq!(left_out(&drop_all()), None);
        let mut other = all_but(0x88B5);
        other[1] ^= 1;
        assert_eq!(left_out(&other), None);
        assert_eq!(left_out(&other[..20]), None);
    }
}

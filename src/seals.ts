export { sealed, type SealOptions } from "./seals/sealed.ts";
export type { ApprovalVerifier, CheckedApproval } from "./approvals/ApprovalVerifier.ts";
export {
  signApproval,
  type ApprovalToSign,
  type SignApprovalOptions,
  type SignedApproval,
} from "./approvals/signedApprovals.ts";
export { signedApprovals, type SignedApprovalsOptions } from "./approvals/signedApprovals.ts";
export { verifySeals, type SealVerification, type VerifySealsOptions } from "./seals/verifySeals.ts";
export type { KeptSeal, SealKeeper, Sign, Verify } from "./seals/log/SealKeys.ts";
export type { SealChange, SealChangeKind } from "./errors/sealErrors.ts";

export { sealed, type SealOptions } from "./seals/sealed.ts";
export type { ApprovalVerifier, CheckedApproval } from "./signedApprovals/signedApprovals.ts";
export {
  signApproval,
  type ApprovalToSign,
  type SignApprovalOptions,
  type SignedApproval,
} from "./signedApprovals/signedApprovals.ts";
export { signedApprovals, type SignedApprovalsOptions } from "./signedApprovals/signedApprovals.ts";
export { verifySeals, type SealVerification, type VerifySealsOptions } from "./seals/sealed.ts";
export type { KeptSeal, SealKeeper, Sign, Verify } from "./seals/log/Seal.ts";
export type { SealChange, SealChangeKind } from "./errors/sealErrors.ts";

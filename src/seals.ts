export { sealed, type SealOptions } from "./seals/sealed.ts";
export { verifySeals, type SealVerification, type VerifySealsOptions } from "./seals/verifySeals.ts";
export type { KeptSeal, SealKeeper, Sign, Verify } from "./seals/log/SealKeys.ts";
export type { SealChange, SealChangeKind } from "./errors/sealErrors.ts";

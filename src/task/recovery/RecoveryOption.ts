export { needsNobody, recoveryOptions, type RecoveryOption } from "../../persistence/RecoveryOption.ts";

export type { RecoveryParticipant } from "../../persistence/RecoveryParticipant.ts";

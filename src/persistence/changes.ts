/** Loads the code that reads, checks and changes the past of an agent in one module, on first use. */
export { checkpointTree } from "../checkpoint/data/checkpointTree.ts";
export { findCheckpoint, findRollbackTarget } from "../journal/findCheckpoint.ts";
export { editCheckpoint, editSchema } from "./edit/editCheckpoint.ts";
export { nameCheckpoint, removeCheckpointName } from "./edit/editCheckpoint.ts";
export { forkAgent } from "./fork/forkAgent.ts";
export { continueFromHead } from "./executionPoint/continueFromHead.ts";
export { executionPointOf, executionPointSchema } from "./executionPoint/executionPoint.ts";
export { setExecutionPoint } from "./executionPoint/setExecutionPoint.ts";
export { notedValues } from "../journal/notesAround.ts";
export { validateCheckpoint } from "./read/validateCheckpoint.ts";
export { isHistoryOnly } from "./rollback/RollbackReport.ts";
export { historyOnly } from "./rollback/rollBack.ts";
export { restart, restartSchema } from "./rollback/restart.ts";
export { finishRollback, readForMove, rollBackFromOutside } from "./rollback/rollBack.ts";
export { rollBackInRun } from "./rollback/rollBackInRun.ts";
export { cancelRun, stopRun } from "./run/cancelRun.ts";
export {
  callsInDoubt,
  inverseInDoubt,
  inversesInDoubt,
  resolveManually,
  toolCallInDoubt,
} from "./settle/callsInDoubt.ts";
export { checkSettlement } from "../doubt/ToolCallInDoubt.ts";
export { giveBackClosed } from "./waiting/answerRequests.ts";

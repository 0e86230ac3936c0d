export { exportAgent, type ExportOptions } from "./transfer/exportAgent.ts";
export { cancelMove, finishMove } from "./transfer/finishMove.ts";
export { importAgent, type ImportOptions, type ImportReport } from "./transfer/importAgent.ts";
export type { MoveReceipt } from "./transfer/MoveReceipt.ts";

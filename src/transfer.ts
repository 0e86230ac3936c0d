export { exportAgent, type ExportOptions } from "./transfer/exportAgent.ts";
export { cancelMove, finishMove, type MoveReceipt } from "./transfer/finishMove.ts";
export { importAgent, type ImportOptions, type ImportReport } from "./transfer/importAgent.ts";

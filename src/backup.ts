export { backupStorage, type BackupOptions, type BackupReport, type FailedLog } from "./backup/backupStorage.ts";
export { markRestored, type MarkReport } from "./backup/restoreBackup.ts";
export { restoreBackup, type RestoreOptions, type RestoreReport } from "./backup/restoreBackup.ts";

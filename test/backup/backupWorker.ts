import { writeSync } from "node:fs";
import { backupStorage } from "agent-persistence/backup";
import { FilePersistenceStorageProvider } from "agent-persistence/file";

/** Backs up a storage. The call to the file system with the number in `KILL_BEFORE` ends the process. */
const [directory = "", source = ""] = process.argv.slice(2);
const { written } = await backupStorage(new FilePersistenceStorageProvider({ directory: source }), { directory });
writeSync(1, JSON.stringify(written.length));

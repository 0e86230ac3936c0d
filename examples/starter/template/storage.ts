import { FilePersistenceStorageProvider } from "agent-persistence/file";

/** Keeps agents in the folder `.agent-persistence`. */
export const storage: FilePersistenceStorageProvider = new FilePersistenceStorageProvider();

import type { FilePersistenceStorageProvider } from "agent-persistence/file";

/** The status of the only agent of a storage; `undefined`: it has none. */
export async function statusIn({ log }: FilePersistenceStorageProvider): Promise<string | undefined> {
  for await (const { status } of log.list()) return status;
  return undefined;
}

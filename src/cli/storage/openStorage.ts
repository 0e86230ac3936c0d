import { readOnlyFileSystem } from "../../nodejs/readOnlyFileSystem.ts";
import { CommandFailure } from "../terminal/CommandFailure.ts";
import { isDirectoryAt, type StorageAddress } from "./storageAddress.ts";
import type { OpenedStorage, OpenOptions } from "./OpenedStorage.ts";

/** Opens the storage at an address, with database clients of the user's project. @throws CommandFailure */
export async function openStorage(address: StorageAddress, options: OpenOptions): Promise<OpenedStorage> {
  if (address.kind === "file") return openFiles(address, options);
  if (address.kind === "sqlite") return (await import("./openSqlite.ts")).openSqlite(address, options);
  if (address.kind === "postgres") return (await import("./openPostgres.ts")).openPostgres(address, options);
  return (await import("./openDynamodb.ts")).openDynamodb(address, options);
}

async function openFiles(
  { folder }: Extract<StorageAddress, { kind: "file" }>,
  { purpose }: OpenOptions,
): Promise<OpenedStorage> {
  if (purpose !== "make" && !(await isDirectoryAt(folder)))
    throw new CommandFailure("notFound", `There is no folder ${folder}.`);
  const { FilePersistenceStorageProvider, nodeFileSystem } = await import("../../file.ts");
  const fileSystem = purpose === "read" ? readOnlyFileSystem(nodeFileSystem) : nodeFileSystem;
  const storage = new FilePersistenceStorageProvider({ directory: folder, fileSystem });
  return { storage, name: `file:${folder}`, close: () => storage.log.close() };
}

import type { KeySource } from "../storage/KeySource.ts";
import { ByteReader } from "../transfer/format/ByteReader.ts";
import { decryptedArchive } from "../transfer/format/decryptedArchive.ts";
import { encryptedArchive } from "../transfer/format/encryptedArchive.ts";
import type { BackedUpLog, BackupFolder } from "./BackupFolder.ts";

/**
 * Encrypts an archive with the current key, without its log.
 *
 * @throws KeyMissingError, AuthenticationFailedError
 * @throws InvalidArchiveError for a plain archive, which anyone could have written.
 */
export async function encryptAgain(folder: BackupFolder, archive: BackedUpLog, keys: KeySource): Promise<void> {
  const stored = folder.bytesOf(archive.file);
  const { logId: agentId, position, generation, shape } = archive;
  try {
    const plain = await decryptedArchive(new ByteReader(stored), { source: keys, isRequired: true });
    const header = { agentId, position, generation, ...(shape !== undefined && { shape }) };
    await folder.store(agentId, encryptedArchive(plain.rest(), header, keys));
  } finally {
    await stored.return(undefined);
  }
}

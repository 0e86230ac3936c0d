import { InMemoryPersistenceStorageProvider } from "agent-persistence";
import type { PersistenceSaver } from "agent-persistence/langgraph";
import { processOwner } from "../../../../src/storage/ReleasableLog.ts";

/**
 * What a storage in memory has of a thread now, as another process finds it once this one is gone.
 *
 * @param stored what has to be stored before. Absent: what is queued is lost.
 */
export async function pictureOf(
  storage: InMemoryPersistenceStorageProvider,
  threadId: string,
  stored?: PersistenceSaver,
): Promise<InMemoryPersistenceStorageProvider> {
  await stored?.getTuple({ configurable: { thread_id: threadId } });
  const picture = new InMemoryPersistenceStorageProvider();
  const id = `thread:${threadId}`;
  const owned = await picture.log.open(id, processOwner());
  let position = 0;
  for await (const { records } of storage.log.read(id))
    position = await owned.append({ id: `picture-${position}`, records }, position);
  await owned.release();
  return picture;
}

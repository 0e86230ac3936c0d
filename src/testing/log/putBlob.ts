import type { RecordLogUnderTest } from "./RecordLogUnderTest.ts";

/** Puts a blob and appends a record that refers to it: what nothing refers to, a storage may remove. */
export function putBlob(storage: RecordLogUnderTest, agentId: string, bytes: Uint8Array): Promise<string> {
  return storage.own(agentId, async (owned) => {
    const reference = await storage.log.blobs.put(agentId, owned.generation, bytes);
    const record = { kind: "storage", lane: 1, key: "large", value: { $blob: [reference, bytes.length] } };
    await owned.append({ id: `${owned.generation}-${owned.position + 1}`, records: [record] }, owned.position);
    return reference;
  });
}

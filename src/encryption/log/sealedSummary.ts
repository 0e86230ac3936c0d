import { z } from "zod";
import { AuthenticationFailedError } from "../../errors/encryptionErrors.ts";
import { AgentPersistenceError } from "../../errors/AgentPersistenceError.ts";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../../internal/bytes.ts";
import type { AgentSummary } from "../../storage/RecordLog.ts";
import { unreadable, unreadableSummary } from "../../storage/summaries.ts";
import type { DataKeys, DataKey } from "../keys/DataKeys.ts";

/** A field of a summary that can stay readable in the storage. */
export type PlainField = "priority" | "attempts" | "checkpoints" | "requestIds" | "runId" | "taskName";

export const plainFields: readonly PlainField[] = [
  "priority",
  "attempts",
  "checkpoints",
  "requestIds",
  "runId",
  "taskName",
];

export const defaultPlainFields: readonly PlainField[] = ["priority", "attempts", "checkpoints"];

const sealedSchema = z.object({ encrypted: z.string(), key: z.string() });

/** Returns the summary to store: the fields that lists need, the given fields, and the encrypted summary as its data. */
export async function sealSummary(
  key: DataKey,
  summary: AgentSummary,
  plain: readonly PlainField[],
): Promise<AgentSummary> {
  const { agentId, status, order, dueAt, position, createdAt, updatedAt } = summary;
  const encrypted = toBase64Url(await key.encrypt(utf8(JSON.stringify(summary)), contextOf(summary, key.id)));
  const shown = plain.flatMap((name) => (summary[name] === undefined ? [] : [[name, summary[name]]]));
  return {
    agentId,
    status,
    order,
    ...(dueAt !== undefined && { dueAt }),
    requestIds: [],
    position,
    ...(Object.fromEntries(shown) as Partial<AgentSummary>),
    createdAt,
    updatedAt,
    data: { encrypted, key: key.id },
  };
}

/** Decrypts a listed summary. A summary that cannot be decrypted is listed as unreadable, with the reason. */
export async function openSummary(keys: DataKeys, stored: AgentSummary): Promise<AgentSummary> {
  if (stored.status === unreadable) return stored;
  try {
    return await decrypted(keys, stored);
  } catch (error) {
    if (!AgentPersistenceError.isInstance(error) || error.code === "storage_failed" || error.code === "storage_closed")
      throw error;
    const { order, position, createdAt, updatedAt } = stored;
    return { ...unreadableSummary(stored.agentId, error), order, position, createdAt, updatedAt };
  }
}

async function decrypted(keys: DataKeys, stored: AgentSummary): Promise<AgentSummary> {
  const { agentId, position } = stored;
  const failed = (found: string) => new AuthenticationFailedError(agentId, undefined, found);
  const parsed = sealedSchema.safeParse(stored.data).data;
  if (!parsed) throw failed("its summary is not encrypted");
  const key = await keys.reading(agentId, parsed.key);
  const bytes = fromBase64Url(parsed.encrypted);
  const text = bytes && (await key?.decrypt(bytes, contextOf({ agentId, position }, parsed.key)));
  if (!text) throw failed("its summary was changed, or it belongs to another agent");
  return JSON.parse(fromUtf8(text)) as AgentSummary;
}

function contextOf({ agentId, position }: Pick<AgentSummary, "agentId" | "position">, keyId: string): string {
  return JSON.stringify(["agent-persistence summary", 1, agentId, position, keyId]);
}

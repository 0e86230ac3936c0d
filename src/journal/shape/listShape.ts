import type { RecordLog } from "../../storage/RecordLog.ts";
import { logIdOf } from "./LogShape.ts";

/** A log of one shape in a list. */
export interface ListedShape {
  /** What users call it. */
  readonly id: string;
  /** Where a list goes on: `after` of the next page. */
  readonly order: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601: when it last changed, or up to a minute earlier. */
  readonly updatedAt: string;
}

/** The logs of one shape, those that changed last first. @param options.limit the most to yield. Default: no limit. */
export async function* listShape(
  shape: { readonly name: string },
  log: RecordLog,
  options: { readonly after?: string | undefined; readonly limit?: number | undefined } = {},
): AsyncGenerator<ListedShape> {
  const { after, limit } = options;
  const asked = { status: shape.name, ...(after !== undefined && { after }), ...(limit !== undefined && { limit }) };
  const prefix = logIdOf(shape, "");
  for await (const { agentId, order, createdAt, updatedAt } of log.list(asked))
    yield { id: agentId.slice(prefix.length), order, createdAt, updatedAt };
}

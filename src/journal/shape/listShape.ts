import type { RecordLog } from "../../storage/RecordLog.ts";
import { logIdOf } from "./LogShape.ts";

export interface ListedShape {
  /** The id for users. */
  readonly id: string;
  /** The cursor of a list. Pass it as `after` for the next page. */
  readonly order: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** ISO 8601. The time of the last change, or up to a minute earlier. */
  readonly updatedAt: string;
}

/** Lists the logs of one shape, last changed first. @param options.limit the maximum number. Defaults to no limit. */
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

type Fields = Readonly<Record<string, unknown>>;

/** A result of `generate` or `stream`, of any version of the AI SDK. */
interface Result {
  readonly steps: PromiseLike<readonly Fields[]> | readonly Fields[];
  readonly totalUsage: unknown;
  readonly output: unknown;
  readonly fullStream?: AsyncIterable<Fields>;
}

const stepFields = ["content", "finishReason", "rawFinishReason", "usage", "warnings", "providerMetadata"];
const pieces: Fields = { "text-delta": "text", "reasoning-delta": "text", "tool-input-delta": "delta" };
const ids: ReadonlySet<string> = new Set(["id", "toolCallId", "approvalId"]);
/** What is another one each time, and what a provider sends besides. */
const leftOut: ReadonlySet<string> = new Set(["timestamp", "headers", "body", "request", "callId", "performance"]);
const metadata: ReadonlySet<string> = new Set([
  "providerMetadata",
  "providerOptions",
  "callProviderMetadata",
  "resultProviderMetadata",
]);

/** What a result shows and holds that is the same with and without the library: all but times and ids, which are numbered. */
export async function comparable(result: unknown): Promise<unknown> {
  // It has these fields in both versions.
  const given = result as Result;
  const shown = given.fullStream && (await shownBy(given.fullStream));
  const steps = (await given.steps).map((step) => ({
    ...Object.fromEntries(stepFields.map((field) => [field, step[field]])),
    response: step["response"],
  }));
  return withoutIds({ shown, steps, totalUsage: await given.totalUsage, output: await outputOf(given) });
}

/** The getter of a result throws if there is none. */
async function outputOf(result: Result): Promise<unknown> {
  try {
    return await result.output;
  } catch (error) {
    return String(error);
  }
}

/** The parts of a stream, with the pieces of each put together: a recorded text comes in one piece. */
async function shownBy(stream: AsyncIterable<Fields>): Promise<readonly Fields[]> {
  const shown: Fields[] = [];
  for await (const part of stream) {
    const last = shown.at(-1);
    const piece = pieces[String(part["type"])] as string | undefined;
    if (piece !== undefined && last && last["type"] === part["type"] && last["id"] === part["id"])
      shown[shown.length - 1] = { ...last, [piece]: String(last[piece]) + String(part[piece]) };
    else shown.push(part);
  }
  return shown;
}

/** A value whose ids are numbered, without what is another one each time. */
export function withoutIds(value: unknown): unknown {
  const known = new Map<unknown, string>();
  const numbered = (id: unknown) => {
    if (!known.has(id)) known.set(id, `id ${known.size}`);
    return known.get(id);
  };
  const seen = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map((each: unknown) => seen(each));
    if (item instanceof Error) return String(item);
    if (typeof item !== "object" || item === null) return item;
    const fields = Object.entries(item).map(([key, field]) => [key, metadata.has(key) ? withoutOurs(field) : field]);
    const entries = (fields as [string, unknown][]).filter(([key, field]) => !leftOut.has(key) && field !== undefined);
    return Object.fromEntries(entries.map(([key, field]) => [key, ids.has(key) ? numbered(field) : seen(field)]));
  };
  return seen(value);
}

/** Calls carry the id of the provider in their metadata. */
function withoutOurs(given: unknown): unknown {
  const { "agent-persistence": _ours, ...others } = Object(given) as Fields;
  return Object.keys(others).length > 0 ? others : undefined;
}

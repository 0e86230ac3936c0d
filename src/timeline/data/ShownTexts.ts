import type { FileState } from "../../checkpoint/data/FileChange.ts";
import type { MessageView } from "../../inspect/view/CheckpointView.ts";
import type { ShownValue, FileChangeView, EntryView } from "../../inspect/view/viewParts.ts";
import type { Redaction } from "../options/Redaction.ts";
import type { TimelineMessage, TimelinePart, TimelineFile } from "./TimelineData.ts";
import type { AgentInspector } from "../../inspect/AgentInspector.ts";
import { withoutUndefined } from "../../internal/withoutUndefined.ts";

/** The maximum length of a list or object that is shown on one line. */
const oneLine = 72;
/** The maximum depth of indentation. Deeper values would need millions of spaces. */
const deepestIndent = 24;

/** The maximum size of a file in bytes. Of larger files, only the path is shown. */
const largest = 256 * 1024;

/** Converts log values to text without hidden values. */
export class ShownTexts {
  readonly #redaction: Redaction;

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  of(shown: ShownValue, path: readonly string[]): string {
    if ("unreadable" in shown) return `Cannot be read: ${shown.unreadable.message}`;
    return this.plain(shown.value, path);
  }

  plain(value: unknown, path: readonly string[]): string {
    return valueText(this.#redaction.value(value, path));
  }

  text(text: string): string {
    return this.#redaction.text(text);
  }

  /** Converts a message to text. A value that is not a message is shown unchanged. */
  message({ number, message, before }: MessageView & { readonly before?: number }): TimelineMessage {
    const place = before === undefined ? { number } : { number, before };
    if ("unreadable" in message) return { ...place, role: "unreadable", parts: [asText(this.of(message, []))] };
    const { role, content } = fieldsOf(message.value);
    const parts = Array.isArray(content) ? content.map((part) => this.#part(part)) : [asText(this.plain(content, []))];
    return { ...place, role: typeof role === "string" ? role : "message", parts };
  }

  /** Returns the text of a model response. Empty if the response contains only tool calls. */
  answer(message: ShownValue): string {
    const { parts } = this.message({ number: 0, message });
    return parts.flatMap(({ type, text }) => (type === "text" ? text : [])).join("\n");
  }

  #part(part: unknown): TimelinePart {
    const { type, text, toolName, toolCallId, input, output, isError, mediaType, filename } = fieldsOf(part);
    const tool = String(toolName);
    const call = { tool, call: String(toolCallId) };
    switch (type) {
      case "text":
        return asText(this.plain(text, []));
      case "reasoning":
        return { type, text: this.plain(text, []) };
      case "tool-call":
        return { type: "call", ...call, text: this.plain(input, [tool, "input"]) };
      case "tool-result": {
        const failed = isError === true ? { failed: true as const } : {};
        return { type: "result", ...call, ...failed, text: this.plain(output, [tool, "output"]) };
      }
      case "file":
        return { type, text: [filename, mediaType].filter((word) => typeof word === "string").join(", ") };
      default:
        return asText(this.plain(part, []));
    }
  }
}

function asText(text: string): TimelinePart {
  return { type: "text", text };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null
    ? (value as Readonly<Record<string, unknown>>)
    : { content: value };
}

/** Formats a JSON value for people: text unchanged, short lists and objects on one line, others indented. */
export function valueText(value: unknown): string {
  return typeof value === "string" ? value : print(value, 0);
}

function print(value: unknown, level: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? String(value);
  const isList = Array.isArray(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  const parts = isList
    ? value.map((item) => print(item, level + 1))
    : Object.entries(value).map(([key, item]) => `${keyText(key)}: ${print(item, level + 1)}`);
  if (parts.length === 0) return open + close;
  const length = parts.reduce((sum, part) => sum + part.length + 2, level * 2);
  if (length <= oneLine && parts.every((part) => !part.includes("\n"))) {
    return isList ? `[${parts.join(", ")}]` : `{ ${parts.join(", ")} }`;
  }
  const indent = "  ".repeat(Math.min(level, deepestIndent));
  return `${open}\n${parts.map((part) => `${indent}  ${part}`).join(",\n")}\n${indent}${close}`;
}

function keyText(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}

/** The raw records of a log as text, which are read together with the steps. */
export class RecordTexts {
  readonly #entries: AsyncIterator<EntryView> | undefined;
  readonly #texts: ShownTexts;
  /** The next append, which was read too early because it is after the last step. */
  #next: EntryView | undefined;
  #isOver = false;
  #newest: { readonly position: number; readonly texts: readonly string[] } | undefined;

  /** @param entries If `undefined`, records are omitted. */
  constructor(entries: AsyncIterable<EntryView> | undefined, texts: ShownTexts) {
    this.#entries = entries?.[Symbol.asyncIterator]();
    this.#texts = texts;
  }

  /** Returns the new records up to a position. Several steps that end in one append each get its records. */
  async upTo(position: number): Promise<readonly string[]> {
    const texts: string[] = [];
    if (this.#newest?.position === position) return this.#newest.texts;
    for (let entry = await this.#peek(); entry && entry.position <= position; entry = await this.#peek()) {
      this.#next = undefined;
      this.#newest = { position: entry.position, texts: this.#textsOf(entry) };
      texts.push(...this.#newest.texts);
    }
    return texts;
  }

  #textsOf({ position, generation, records }: EntryView): readonly string[] {
    return records.map((record) => this.#texts.plain({ position, generation, ...record }, ["records"]));
  }

  async close(): Promise<void> {
    await this.#entries?.return?.();
  }

  /** Reads the next append. Stops at damage, which the page shows in a separate row. */
  async #peek(): Promise<EntryView | undefined> {
    if (this.#next !== undefined || this.#isOver || this.#entries === undefined) return this.#next;
    try {
      const { value, done } = await this.#entries.next();
      this.#isOver = done === true;
      if (!this.#isOver) this.#next = value as EntryView;
    } catch {
      this.#isOver = true;
    }
    return this.#next;
  }
}

interface FileSource {
  readonly inspector: Pick<AgentInspector, "fileContent">;
  readonly agentId: string;
  readonly texts: ShownTexts;
}

export async function fileTexts(
  changes: readonly FileChangeView[],
  from: FileSource,
): Promise<readonly TimelineFile[]> {
  const files: TimelineFile[] = [];
  for (const { path, change, before, after } of changes) {
    const [old, now] = [await fileText(before, from), await fileText(after, from)];
    files.push(withoutUndefined({ path, change, before: old.text, after: now.text, note: now.note ?? old.note }));
  }
  return files;
}

async function fileText(
  state: FileState | undefined,
  { inspector, agentId, texts }: FileSource,
): Promise<{ readonly text?: string; readonly note?: string }> {
  if (state === undefined) return {};
  if (state.kind === "link") return { note: `a link to ${state.target}` };
  if (state.bytes > largest) return { note: `${state.bytes} bytes, too large to be shown` };
  const bytes = await inspector.fileContent(agentId, state.hash).catch(() => undefined);
  if (bytes === undefined) return { note: "its content is not in the log" };
  if (bytes.includes(0)) return { note: `${state.bytes} bytes that are no text` };
  return { text: texts.text(new TextDecoder().decode(bytes)) };
}

import type { Message } from "../../checkpoint/messages/Message.ts";
import type { OlderContent } from "../config/TrimmingPolicy.ts";

const outputCharacters = 120;
const messageCharacters = 60;
/** The limits for the summary of all older messages: for the start and for the end of the conversation. */
const firstCharacters = 600;
const lastCharacters = 1_400;
const summaryHead = /^\[(\d+) earlier messages, shortened\]\n/;

/**
 * The built-in summarizer. It is deterministic, short, and uses no model. For messages it keeps their number and the
 * start of the oldest and newest texts, even across repeated summaries.
 */
export function summarizePlainly(older: OlderContent): string {
  if (older.kind === "tool_output") {
    const text = textOfOutput(older.output);
    return `[shortened from ${text.length} characters] ${beginning(text, outputCharacters)}`;
  }
  const [first, ...rest] = older.messages;
  const before = first && summaryIn(first);
  const added = before ? rest : older.messages;
  const lines = added.map((message) => `${message.role}: ${beginning(textOfMessage(message), messageCharacters)}`);
  const text = [...(before ? [before.text] : []), ...lines].join("\n");
  return `[${added.length + (before?.count ?? 0)} earlier messages, shortened]\n${withoutMiddle(text)}`;
}

function summaryIn({ role, content }: Message): { readonly count: number; readonly text: string } | undefined {
  if (role !== "user" || typeof content !== "string") return undefined;
  const found = summaryHead.exec(content);
  return found ? { count: Number(found[1]), text: content.slice(found[0].length) } : undefined;
}

function textOfOutput(output: unknown): string {
  if (typeof output === "string") return output;
  try {
    return JSON.stringify(output) ?? String(output);
  } catch {
    // The value is storable but not JSON, such as a value with a bigint.
    return Object.prototype.toString.call(output);
  }
}

function textOfMessage({ content }: Message): string {
  if (typeof content === "string") return content;
  const texts = content.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text;
    if (part.type === "custom") return "";
    return part.type === "file" ? `(${part.mediaType})` : `(${part.type} ${part.toolName})`;
  });
  return texts.join(" ");
}

function withoutMiddle(text: string): string {
  if (text.length <= firstCharacters + lastCharacters) return text;
  const end = text.slice(-lastCharacters).replace(/^[\udc00-\udfff]/, "");
  return `${text.slice(0, firstCharacters).replace(/[\ud800-\udbff]$/, "")}\n…\n${end}`;
}

/** Cuts a text without splitting a surrogate pair. */
function beginning(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters).replace(/[\ud800-\udbff]$/, "")}…`;
}

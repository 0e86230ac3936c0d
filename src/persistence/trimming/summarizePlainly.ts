import type { Message } from "../../checkpoint/messages/Message.ts";
import type { OlderContent } from "../config/TrimmingPolicy.ts";

const outputCharacters = 120;
const messageCharacters = 60;
const totalCharacters = 400;

/** The summarizer that is built in: the same for the same content, short, and without a model. */
export function summarizePlainly(older: OlderContent): string {
  if (older.kind === "tool_output") {
    const text = textOfOutput(older.output);
    return `[shortened from ${text.length} characters] ${beginning(text, outputCharacters)}`;
  }
  const lines = older.messages.map(
    (message) => `${message.role}: ${beginning(textOfMessage(message), messageCharacters)}`,
  );
  const text = lines.join("\n");
  const end = text.length > totalCharacters ? `…${text.slice(-totalCharacters).replace(/^[\udc00-\udfff]/, "")}` : text;
  return `[${older.messages.length} earlier messages, shortened]\n${end}`;
}

function textOfOutput(output: unknown): string {
  if (typeof output === "string") return output;
  try {
    return JSON.stringify(output) ?? String(output);
  } catch {
    // A value that is stored but is not JSON, such as one with a bigint.
    return Object.prototype.toString.call(output);
  }
}

function textOfMessage({ content }: Message): string {
  if (typeof content === "string") return content;
  const texts = content.map((part) => {
    if (part.type === "text" || part.type === "reasoning") return part.text;
    return part.type === "file" ? `(${part.mediaType})` : `(${part.type} ${part.toolName})`;
  });
  return texts.join(" ");
}

/** Cut between characters, not inside one. */
function beginning(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters).replace(/[\ud800-\udbff]$/, "")}…`;
}

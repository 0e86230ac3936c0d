import type { MessageView } from "../../inspect/view/CheckpointContent.ts";
import type { ShownValue } from "../../inspect/view/ShownValue.ts";
import type { Redaction } from "../options/Redaction.ts";
import type { TimelineMessage, TimelinePart } from "./TimelineData.ts";
import { valueText } from "./valueText.ts";

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

  /** Converts a message. A value without the form of a message is shown unchanged. */
  message({ number, message, before }: MessageView & { readonly before?: number }): TimelineMessage {
    const place = before === undefined ? { number } : { number, before };
    if ("unreadable" in message) return { ...place, role: "unreadable", parts: [asText(this.of(message, []))] };
    const { role, content } = fieldsOf(message.value);
    const parts = Array.isArray(content) ? content.map((part) => this.#part(part)) : [asText(this.plain(content, []))];
    return { ...place, role: typeof role === "string" ? role : "message", parts };
  }

  /** Returns the text of a model response. Empty if it only contains tool calls. */
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

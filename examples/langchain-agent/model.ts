import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";

const calls = [
  { id: "call-1", name: "pay", args: { bill: "rent", euros: 900 } },
  { id: "call-2", name: "pay", args: { bill: "dinner", euros: 400 } },
];

/** A mock model: it asks for two payments at once, and then says what came of them. */
export class MockModel extends BaseChatModel {
  constructor(readonly onRequest: () => void) {
    super({});
  }

  _llmType(): string {
    return "mock";
  }

  override bindTools(): this {
    return this;
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.onRequest();
    const results = messages.filter((message) => message.getType() === "tool").map(({ text }) => text);
    const message =
      results.length > 0
        ? new AIMessage(`${results.join(", and ")}.`)
        : new AIMessage({ content: "", tool_calls: calls });
    return { generations: [{ text: message.text, message }] };
  }
}

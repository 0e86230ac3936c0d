import { useState } from "preact/hooks";
import type { TimelineMessage, TimelinePart } from "../../data/TimelineData.ts";
import { TextBlock } from "./TextBlock.tsx";

const portion = 100;

interface ConversationProps {
  readonly messages: readonly TimelineMessage[];
  readonly added: ReadonlySet<number>;
}

/** The history as a conversation, newest at the end. */
export function Conversation({ messages, added }: ConversationProps) {
  const [shown, setShown] = useState(portion);
  const earlier = Math.max(0, messages.length - shown);
  if (messages.length === 0) return <p class="empty">No messages yet.</p>;
  return (
    <div class="conversation">
      {earlier > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + portion)}>
          {`Show earlier messages (${earlier})`}
        </button>
      )}
      {messages.slice(earlier).map((message) => (
        <MessageBlock key={message.number} message={message} isNew={added.has(message.number)} />
      ))}
    </div>
  );
}

export function MessageBlock({ message, isNew }: { readonly message: TimelineMessage; readonly isNew: boolean }) {
  return (
    <article class={`message ${roles.has(message.role) ? message.role : "other"}${isNew ? " new" : ""}`}>
      <h3>
        {message.role}
        {isNew && <span class="tag quiet">new</span>}
      </h3>
      {message.parts.map((part) => (
        <Part part={part} />
      ))}
    </article>
  );
}

const roles = new Set(["system", "user", "assistant", "tool"]);

function Part({ part }: { readonly part: TimelinePart }) {
  if (part.type === "text") return <TextBlock text={part.text} prose />;
  return (
    <div class={`part ${part.type}${part.failed ? " failed" : ""}`}>
      <p class="label">{labelOf(part)}</p>
      <TextBlock text={part.text} prose={part.type === "reasoning"} />
    </div>
  );
}

function labelOf({ type, tool = "", failed }: TimelinePart): string {
  if (type === "call") return `calls ${tool}`;
  if (type === "result") return failed ? `${tool} failed` : `${tool} returned`;
  return type;
}

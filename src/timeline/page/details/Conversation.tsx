import { useState } from "preact/hooks";
import type { TimelineMessage, TimelinePart } from "../../data/TimelineData.ts";
import { sizeText } from "../../layout/durations.ts";

/** The number of messages that are shown first, and that each click adds. */
const messagePortion = 100;

interface ConversationProps {
  readonly messages: readonly TimelineMessage[];
  readonly added: ReadonlySet<number>;
}

/** The messages of the history, newest at the end. */
export function Conversation({ messages, added }: ConversationProps) {
  const [shown, setShown] = useState(messagePortion);
  const earlier = Math.max(0, messages.length - shown);
  if (messages.length === 0) return <p class="empty">No messages yet.</p>;
  return (
    <div class="conversation">
      {earlier > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + messagePortion)}>
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

/** The number of characters that are shown first, and that each click adds. */
const textPortion = { first: 4_000, more: 200_000 };

/** A text from the log. A long text is shown in portions, because browsers cannot lay out megabytes at once. */
export function TextBlock({ text, prose = false }: { readonly text: string; readonly prose?: boolean }) {
  const [shown, setShown] = useState(textPortion.first);
  const rest = text.length - shown;
  return (
    <div class="text">
      <pre class={prose ? "prose" : "code"} tabIndex={-1}>
        {rest > 0 ? text.slice(0, shown) : text}
      </pre>
      {rest > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + textPortion.more)}>
          {`Show more (${sizeText(rest)} hidden)`}
        </button>
      )}
    </div>
  );
}

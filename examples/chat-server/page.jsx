/** @jsxImportSource react */
import { Chat, useChat } from "@ai-sdk/react";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const id = "order-7";

function ChatPage() {
  const [finishedId, setFinishedId] = useState();
  const [chat] = useState(() => {
    // A `Chat` of its own: without it, useChat 3.0.328 adds a response that starts over to the part it has shown.
    return new Chat({ id, onFinish: ({ message, finishReason }) => finishReason && setFinishedId(message.id) });
  });
  // With `resume`, a page that is opened during a run shows its response.
  const { messages, sendMessage, resumeStream, stop, status, error } = useChat({ chat, resume: true });

  useEffect(() => {
    if (!error) return;
    // The server is down, or the response was interrupted. Without a run in progress, nothing is resumed.
    const timer = setTimeout(() => void resumeStream(), 200);
    return () => clearTimeout(timer);
  }, [error, resumeStream]);

  // `stop` of useChat only closes the connection. This also stops the run, whichever server it runs on.
  async function stopRun() {
    await stop();
    await fetch(`/api/chat/${id}/stop`, { method: "POST" });
  }

  const isRunning = status === "submitted" || status === "streaming";
  const last = messages.at(-1);
  const isStopped = status === "ready" && last?.role === "assistant" && last.id !== finishedId;
  return (
    <main data-status={status}>
      {messages.map((message) => (
        <article key={message.id} data-role={message.role}>
          {message.parts.map((part, index) => (
            <Part key={index} part={part} />
          ))}
        </article>
      ))}
      {isStopped && <p>This response was stopped.</p>}
      <button type="button" onClick={() => void sendMessage({ text: "Refund order 7." })}>
        Refund order 7
      </button>
      {isRunning && (
        <button type="button" onClick={() => void stopRun()}>
          Stop
        </button>
      )}
    </main>
  );
}

function Part({ part }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type.startsWith("tool-")) return <pre>{`${part.type} ${part.state}`}</pre>;
  return null;
}

createRoot(document.body.appendChild(document.createElement("div"))).render(<ChatPage />);

import type { ListedPage } from "../data/ListedPage.ts";
import { dateText } from "./list/timeText.ts";

export interface AgentListData {
  readonly agents: readonly ListedPage[];
}

export function AgentList({ agents }: AgentListData) {
  return (
    <main class="agents">
      <h1>Agents</h1>
      {agents.length === 0 && <p class="empty">The storage has no agents.</p>}
      <ul>
        {agents.map(({ id, status, at, reason, url }) => (
          <li>
            <a href={url}>{id}</a>
            <span class={`status ${status}`}>{status.replaceAll("_", " ")}</span>
            <span class="reason">{reason}</span>
            <span class="filler" />
            {at !== "" && <time>{dateText(Date.parse(at))}</time>}
          </li>
        ))}
      </ul>
    </main>
  );
}

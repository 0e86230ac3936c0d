import { type PostgresNames, quoteText } from "./postgresNames.ts";
import { putSummary } from "./putSummary.ts";

/**
 * Returns the SQL function that adds an owner's next append and its summary. The function returns true if that owner
 * still owns the agent. A connection caches the plans of a function even behind a pooler that does not support named
 * statements. Except for the commit, planning is the most expensive part of an append.
 */
export function appendFunction(names: PostgresNames): string {
  const body = `
DECLARE agent_key bigint;
BEGIN
  UPDATE ${names.agents} AS a SET position = at_position, renewed = now()
    WHERE a.id = agent_id AND a.generation = of_generation AND a.owner IS NOT NULL AND a.position = at_position - 1
    RETURNING a.key INTO agent_key;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO ${names.appends} (agent, position, mark, line) VALUES (agent_key, at_position, new_mark, new_line);
  IF new_summary IS NOT NULL THEN
    ${putSummary(names, "VALUES (agent_key, agent_id, new_status, new_place, new_due, new_updated, new_summary)")};
  END IF;
  RETURN true;
END`;
  return `CREATE FUNCTION ${names.append}(
  agent_id bytea, of_generation bigint, at_position bigint, new_mark smallint, new_line bytea,
  new_status text, new_place bytea, new_due bigint, new_updated bigint, new_summary text
) RETURNS boolean LANGUAGE plpgsql AS ${quoteText(body)}`;
}

// The cluster section: gateways and servers.
import { count, plural } from "../../format";
import type { Cluster } from "../../wire";
import { Section } from "../parts";

export function ClusterSection({ cluster: c, fault }: { cluster?: Cluster; fault?: string }) {
  if (fault) {
    return (
      <Section title="Cluster">
        <p class="bad">{fault}</p>
      </Section>
    );
  }
  if (!c) return null;
  const gateways = c.gateways ?? [];
  const servers = c.servers ?? [];
  return (
    <Section title="Cluster" note={`${plural(gateways.length, "gateway")}, ${plural(servers.length, "server")}`}>
      <>
        <table class="table stacks">
          <caption class="sr">Gateways</caption>
          <thead>
            <tr>
              <th>Gateway</th>
              <th>Address</th>
              <th class="num">Sessions</th>
              <th class="num">Running turns</th>
            </tr>
          </thead>
          <tbody>
            {gateways.map((g, i) => (
              <tr key={g.name}>
                <td class="cell-name">
                  <code>{g.name}</code>
                  {i === 0 && <span class="faint"> this one</span>}
                  {g.leads && <span class="faint"> runs jobs</span>}
                </td>
                <td>{g.address}</td>
                <td class="num" data-label="has">{count(g.owns)}</td>
                <td class="num" data-label="running">{count(g.running)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        <table class="table stacks">
          <caption class="sr">Servers</caption>
          <thead>
            <tr>
              <th>Server</th>
              <th class="num">Streams</th>
              <th class="num">Leads</th>
              <th>Status</th>
            </tr>
          </thead>
          <tbody>
            {servers.map((s) => (
              <tr key={s.name}>
                <td class="cell-name">
                  <code>{s.name}</code>
                </td>
                <td class="num" data-label="streams">{count(s.streams)}</td>
                <td class="num" data-label="leads">{count(s.leads)}</td>
                <td>{s.offline ? <span class="bad">unreachable</span> : s.behind > 0 ? `${count(s.behind)} messages behind` : <span class="good">up to date</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </>
    </Section>
  );
}

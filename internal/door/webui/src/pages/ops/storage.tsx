// The storage section.
import { bytes, percent } from "../../format";
import { Bar } from "../../ui";
import type { Storage } from "../../wire";
import { Section } from "../parts";

export function StorageSection({ storage: s }: { storage: Storage }) {
  const parts: [name: string, size: number, what: string][] = [
    ["Sessions", s.sessions, "transcripts"],
    ["Index", s.index, "derived; can be rebuilt"],
    ["Notes", s.memory, "including old versions"],
    ["Files", s.files, "contents of files that tools changed"],
    ["Trash bin", s.bin, "removed sessions; firn bin empty erases them"],
  ];
  const ours = parts.reduce((n, [, size]) => n + size, 0);
  const most = Math.max(1, ...parts.map(([, size]) => size));
  const used = s.total - s.free;
  return (
    <Section title="Storage" note={`${bytes(ours)} in total`}>
      <dl class="storage">
        {parts.map(([name, size, what]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="num storage-size">{bytes(size)}</dd>
            <dd class="storage-bar">
              <Bar part={size} of={most} label={`${name}: ${bytes(size)}`} warn={2} />
            </dd>
            <dd class="faint storage-what">{what}</dd>
          </div>
        ))}
        {s.total > 0 && (
          <div>
            <dt>Disk</dt>
            <dd class="num storage-size">{percent(used, s.total)}</dd>
            <dd class="storage-bar">
              <Bar part={used} of={s.total} label={`${percent(used, s.total)} of the disk is used`} warn={0.9} />
            </dd>
            <dd class="faint storage-what">
              {bytes(s.free)} free of {bytes(s.total)}
            </dd>
          </div>
        )}
      </dl>
    </Section>
  );
}

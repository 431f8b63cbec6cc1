// Helpers of the page tests. They are injected into every document before its own scripts,
// and find elements as users do: by role, name and visibility.
window.webtest = (() => {
	const seen = { violations: [], shifts: [] };
	document.addEventListener("securitypolicyviolation", (e) =>
		seen.violations.push(`${e.violatedDirective} refuses ${e.blockedURI} (${e.sample})`));
	const where = (n) => !n ? "?" : n.nodeType !== 1 ? n.nodeName : n.tagName.toLowerCase() + (typeof n.className === "string" && n.className ? "." + n.className.split(" ").join(".") : "");
	new PerformanceObserver((list) => {
		for (const e of list.getEntries()) {
			if (!e.hadRecentInput) seen.shifts.push({ value: e.value, time: e.startTime, of: e.sources.map((s) => where(s.node)) });
		}
	}).observe({ type: "layout-shift", buffered: true });

	const roles = {
		button: "button, [role=button], input[type=submit], input[type=button], summary",
		link: "a[href], [role=link]",
		textbox: "textarea, input:not([type]), input[type=text], input[type=search], input[type=password], input[type=date], [role=textbox], [role=searchbox], [contenteditable=true]",
		checkbox: "input[type=checkbox], [role=checkbox]",
		radio: "input[type=radio], [role=radio]",
		select: "select, [role=combobox], [role=listbox]",
		tab: "[role=tab], nav[aria-label] a[aria-current], nav a",
		dialog: "dialog[open], [role=dialog], [role=alertdialog]",
		heading: "h1, h2, h3, h4, h5, h6, [role=heading]",
		menuitem: "[role=menuitem], [role=menu] button, [role=menu] a",
		option: "option, [role=option]",
		article: "article, [role=article]",
		image: "img, svg[role=img], [role=img]",
		any: "a[href], button, input, textarea, select, summary, [role=menuitem], [role=tab], [role=option], [role=button]",
	};
	const visible = (el) => el.checkVisibility({ opacityProperty: false, visibilityProperty: true }) && el.getClientRects().length > 0;
	const squeeze = (s) => (s || "").replace(/\s+/g, " ").trim();
	function name(el) {
		const by = el.getAttribute("aria-labelledby");
		if (by) return squeeze(by.split(/\s+/).map((id) => document.getElementById(id)?.textContent).join(" "));
		if (el.getAttribute("aria-label")) return squeeze(el.getAttribute("aria-label"));
		if (el.labels?.length) return squeeze([...el.labels].map((l) => l.textContent).join(" "));
		if (/^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName)) return squeeze(el.placeholder || el.title || el.value);
		return squeeze(el.innerText) || squeeze(el.textContent) || squeeze(el.title) || squeeze(el.querySelector("img[alt], svg[aria-label]")?.getAttribute("aria-label"));
	}
	// A string must equal the whole name, a pattern must match it.
	const fits = (el, want) => want instanceof RegExp ? want.test(name(el)) : name(el) === want;
	const all = (role, want, within = document) => [...within.querySelectorAll(roles[role] || role)].filter((el) => visible(el) && (want === undefined || fits(el, want)));
	const find = (role, want, within) => all(role, want, within)[0];
	const text = () => document.body?.innerText ?? "";

	// aim returns the point to click on an element: its center, if nothing covers it and it
	// has not moved since the last call.
	let aimed = {};
	function aim(el) {
		const now = aimAt(el);
		const before = aimed;
		aimed = { el, ...now };
		return now && before.el === el && before.x === now.x && before.y === now.y ? now : null;
	}
	function aimAt(el) {
		if (!el) return null;
		let box = el.getBoundingClientRect();
		const out = box.top < 0 || box.bottom > innerHeight || box.left < 0 || box.right > innerWidth;
		if (out) {
			el.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
			box = el.getBoundingClientRect();
		}
		const rect = [...el.getClientRects()].find((r) => r.width > 0 && r.height > 0) ?? box;
		const x = rect.left + rect.width / 2, y = rect.top + rect.height / 2;
		const hit = document.elementFromPoint(x, y);
		if (!hit || !(el.contains(hit) || hit.contains(el) || hit.closest("label")?.control === el)) return null;
		return { x, y };
	}
	// wide lists elements that extend beyond the side of the window, except those in a box that
	// scrolls horizontally.
	const boxed = (el) => {
		for (let e = el.parentElement; e && e.localName !== "main" && e !== document.body; e = e.parentElement) {
			if (getComputedStyle(e).overflowX !== "visible" && e.getBoundingClientRect().right <= document.documentElement.clientWidth + 1) return true;
		}
		return false;
	};
	const wide = () => {
		const limit = document.documentElement.clientWidth;
		if (document.scrollingElement.scrollWidth <= limit && document.querySelector("main").scrollWidth <= limit) return [];
		const out = [...document.querySelectorAll("body *")].filter((el) => visible(el) && el.getBoundingClientRect().right > limit + 1 && !boxed(el)).map((el) => where(el));
		return ["width " + document.scrollingElement.scrollWidth, ...out.slice(0, 8)];
	};
	// foul lists what no page of ours has, and what a text would become that was
	// taken for HTML.
	const foul = () => {
		const found = [];
		for (const el of document.querySelectorAll("*")) {
			const tag = el.localName;
			if (tag === "script" && !(el.src && new URL(el.src).origin === location.origin && new URL(el.src).pathname.startsWith("/assets/"))) found.push("a script: " + el.outerHTML.slice(0, 200));
			if (/^(iframe|object|embed|base|frame|frameset|applet|portal|marquee|math)$/.test(tag)) found.push("a " + tag);
			if (tag === "style" && el.textContent) found.push("a style: " + el.textContent.slice(0, 100));
			for (const at of el.attributes) {
				const v = at.value.replace(/[\u0000-\u0020]/g, "").toLowerCase();
				if (/^on/.test(at.name)) found.push(`${tag} ${at.name}=${at.value}`);
				if (/^(href|src|action|formaction|xlink:href|poster|background|srcset|data|ping)$/.test(at.name)) {
					if (/^(javascript|vbscript|data:text|data:application)/.test(v)) found.push(`${tag} ${at.name}=${at.value}`);
					if (tag !== "a" && !/^(\/[^/]|#|blob:|data:image\/)/.test(v) && new URL(at.value, location.href).origin !== location.origin) found.push(`${tag} ${at.name}=${at.value}`);
				}
			}
			if (tag === "a" && el.origin && el.origin !== location.origin && el.origin !== "null" && !/noopener|noreferrer/.test(el.rel)) found.push("a link that sends a referrer: " + el.href);
			if (tag === "form" && el.getAttribute("action")) found.push("a form with an action");
		}
		return found.slice(0, 12);
	};
	// times returns how often a text occurs in the messages of the log, not in the outline or the
	// queue.
	const times = (want) => all("article").reduce((n, el) => n + squeeze(el.innerText).split(want).length - 1, 0);
	// scroller returns the element that scrolls an element.
	const scroller = (el) => {
		for (let e = el?.parentElement; e; e = e.parentElement) {
			if (/auto|scroll/.test(getComputedStyle(e).overflowY) && e.scrollHeight > e.clientHeight) return e;
		}
		return document.scrollingElement;
	};
	return { seen, times, scroller, foul, all, find, name, visible, text, aim, wide, squeeze };
})();

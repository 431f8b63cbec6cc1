// What tests know of a page. It is put into every document before its own
// scripts, and speaks of what people meet: roles, names, what can be seen.
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
	// A name that is a text must be the whole of it, one that is a pattern must match.
	const fits = (el, want) => want instanceof RegExp ? want.test(name(el)) : name(el) === want;
	const all = (role, want, within = document) => [...within.querySelectorAll(roles[role] || role)].filter((el) => visible(el) && (want === undefined || fits(el, want)));
	const find = (role, want, within) => all(role, want, within)[0];
	const text = () => document.body?.innerText ?? "";

	// aim says where to click on an element: its middle, if nothing covers it.
	function aim(el) {
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
	// wide lists what sticks out at the side of the window.
	const wide = () => {
		const limit = document.documentElement.clientWidth;
		if (document.scrollingElement.scrollWidth <= limit) return [];
		return [...document.querySelectorAll("body *")].filter((el) => visible(el) && el.getBoundingClientRect().right > limit + 1).map((el) => where(el)).slice(0, 8);
	};
	return { seen, all, find, name, visible, text, aim, wide, squeeze };
})();

"""What makes a sentence worth keeping, and what makes it talk: small word lists in several languages.

A sentence in a script or language that is not listed loses nothing by it: it is judged by where it stands and by how
concrete it is."""

from __future__ import annotations

import re


class Cue:
    """Alternatives that are compiled when first asked for: together they take a tenth of a second, and a run that finds
    nothing new asks for none."""

    __slots__ = ("_compiled", "_source")

    def __init__(self, source: str) -> None:
        self._source = source
        self._compiled: re.Pattern[str] | None = None

    def _pattern(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._source, re.IGNORECASE)
        return self._compiled

    def search(self, text: str) -> re.Match[str] | None:
        return self._pattern().search(text)

    def match(self, text: str) -> re.Match[str] | None:
        return self._pattern().match(text)


def _any(*patterns: str) -> Cue:
    return Cue("|".join(patterns))


CAUSE = _any(
    r"\b(?:because|due to|caused by|causes|root cause (?:is|was|of|chain)|turn(?:s|ed) out|the (?:real |actual |main |key )?(?:issue|problem|bug|reason|culprit|cause|catch|trick) (?:is|was)|"
    r"which (?:means|meant|is why|explains|causes|broke|breaks)|that(?:'s| is) why|this is why|so that|otherwise|would(?:'ve| have) been|as a result|"
    r"leads? to|means (?:that|the|it|we|you)|hence|therefore|by default|under the hood|silently|no longer|even (?:though|when|if)|"
    r"found (?:it|the (?:issue|problem|bug|root cause|culprit))|doesn't (?:work|support|exist|handle|recogni[sz]e)|fails? (?:because|when|if|with|to)|"
    r"panics? (?:if|when)|race condition|deadlock|regression|edge case|gotcha|caveat|pitfall)\b",
    r"(?:因为|由于|原因|导致|所以|因此|问题在于|问题是|根因|根本原因|否则|默认|其实是|实际上)",
    r"(?:なぜなら|ため、|ためです|原因|理由|によって|ので、|からです|問題は|デフォルト|既定)",
    r"\b(?:weil|wegen|ursache|grund|liegt daran|lag daran|dadurch|deshalb|daher|sonst|standardmäßig|das problem (?:ist|war))\b",
    r"\b(?:parce que|à cause|car |cause|raison|donc|sinon|par défaut|le problème (?:est|était|vient)|puisque)\b",
    r"\b(?:porque|debido a|causa|razón|por eso|de lo contrario|por defecto|el problema (?:es|era|está)|ya que)\b",
    r"(?:потому что|из-за|причин|поэтому|иначе|по умолчанию|проблема (?:в|была)|так как|оказалось)",
    r"(?:때문|원인|이유|그래서|따라서|기본적으로)",
)

RULE = _any(
    r"\b(?:must(?: not|n't)?|never|always|only (?:when|if|after|once|works?|the|for|in|on)|can(?:'t|not)|should(?: not|n't)|requires?|required|need(?:s|ed)? to|has to|have to|"
    r"make sure|ensures?|avoid|don't|do not|prefer|not supported|is not allowed|rather than|instead of|as long as|unless|before (?:you|running|calling|any)|"
    r"guarantees?|invariant|convention|by design|intentional(?:ly)?)\b",
    r"(?:必须|不能|不要|永远|总是|始终|只能|只有|务必|一定要|应该|需要先|避免|禁止|不允许|而不是|不支持|规范)",
    r"(?:必ず|してはいけない|しないで|べき|必要があ|必須|避け|のみ|ではなく|優先|前提|禁止|常に)",
    r"\b(?:muss|müssen|darf nicht|nie(?:mals)?|immer|nur wenn|sollte|statt|anstatt|vermeide|erforderlich)\b",
    r"\b(?:doit|doivent|il faut|ne (?:jamais|pas)|toujours|jamais|uniquement|au lieu de|plutôt que|évite[rz]?|obligatoire)\b",
    r"\b(?:debe|deben|hay que|nunca|siempre|solo (?:si|cuando)|en lugar de|en vez de|evita[r]?|obligatorio)\b",
    r"(?:должн|нельзя|никогда|всегда|только|вместо|избега|необходимо|требуется|нужно)",
    r"(?:반드시|해야|하지 마|항상|절대|대신|필요)",
)

DECISION = _any(
    r"\b(?:decided|we(?:'ll| will| should)? (?:use|go with|keep|stick)|chose|choose|opted|going with|let's (?:use|go|keep|make|just|not)|instead of|rather than|"
    r"prefer(?:red)?|trade-?off|by design|intentional(?:ly)?|agreed|settled on|in favou?r of|replac(?:es?|ed)|drop(?:ped)?|deprecat)\b",
    r"(?:决定|选择|采用|改用|而不是|保留|放弃|方案|统一用)",
    r"(?:決定|採用|選択|ではなく|方針|にする|を維持|廃止)",
    r"\b(?:entschieden|entscheidung|wir (?:nehmen|nutzen|verwenden)|statt|stattdessen|lieber)\b",
    r"\b(?:décid[ée]|choisi|on (?:utilise|garde|prend)|au lieu de|plutôt)\b",
    r"\b(?:decidi|elegi|usamos|vamos a usar|en lugar de|en vez de|preferi)\w*",
    r"(?:решил|выбра|используем|вместо|оставл|лучше)",
)

CHANGE = _any(
    r"\b(?:fix(?:ed|es)?|resolved?|solved?|workaround|added|removed?|replaced?|renamed?|changed|moved|updated|refactored|extracted|introduced|"
    r"now (?:uses?|returns?|checks?|handles?|runs?|shows?|includes?|compares?)|refers? to|returns?|supports?|created|implemented|disabled|enabled|set|migrated|converted)\b|→|->|⇒",
    r"(?:修复|修改|改为|替换|删除|添加|新增|重命名|支持|返回|解决|已将|移除|增加)",
    r"(?:修正|変更|追加|削除|置換|対応|解消|更新|明記|廃止|実装)",
    r"\b(?:behoben|geändert|ersetzt|hinzugefügt|entfernt|umbenannt|gefixt|gelöst)\b",
    r"\b(?:corrigé|modifié|remplacé|ajouté|supprimé|renommé|résolu)e?s?\b",
    r"\b(?:corregi|arregla|cambia|reemplaza|añadi|elimina|renombra|resuelt|soluciona)\w*",
    r"(?:исправ|измен|замен|добав|удал|переимен|решен)",
)

# How talk about the work in progress opens. It is not what the work established.
PROGRESS = _any(
    r"^(?:ok(?:ay)?|great|perfect|excellent|good(?: (?:question|idea|point|catch|call))?|nice|sure|alright|right|yes|absolutely|certainly|of course|thanks?|got it|done|hmm+|interesting|understood|wait|awesome|"
    r"you're (?:absolutely )?right|makes sense|sounds good|fair(?: enough| point)?)[,.!:—–\- ]+(?=let|now|i(?:'|’| )|first|next|here|the tests|all|$)",
    r"^(?:(?:now|so|next|then|first|good|also|okay|great|and|but|finally|wait|hmm)[,.:]?\s+)*(?:let me|let's (?:see|check|look|verify|run|start|try|first|now|take|read|find|also|do|create|update|add|test|write|fix|make|debug)|let us|i'll|i’ll|i will|i'm (?:going to|now|about)|i am (?:going|now)|i need to|i should|i want to|i can see|i see(?: the| that)?\b|i have (?:a|the|all)|"
    r"i understand|i've (?:got|read|looked|reviewed|found the)|i notice|we need to (?:check|look|see)|we can see|time to|moving on|starting|continuing|looking at|checking|reading|running|searching|here'?s? (?:is |are )?(?:the|a|what|my|an)\b|here are)",
    r"^(?:now|next|first|then|finally)[,]?\s+(?:i|we|let|the (?:final|next|last)|for the|add|update|fix|run|test|create|check|verify|remove|implement)\b",
    r"^(?:step|phase|task) \d+\b",
    r"^(?:让我|我来|我先|我将|我会|接下来|现在(?:我|来|让|开始)|好的|首先|下面|正在|我需要|我看到|先看)",
    r"^(?:まず|次に|これから|では[、]|それでは|確認します|はい[、。])",
    r"(?:確認します|します。?$|いたします。?$|してみます|進めます|実行します)",
    r"^(?:lass mich|ich (?:werde|schaue|prüfe|sehe|muss|habe mir)|jetzt|zuerst|als nächstes|okay|gut[,.!]|perfekt|schauen wir)",
    r"^(?:je vais|laisse[zr]?[- ]moi|maintenant|d'abord|ensuite|voyons|regardons|parfait|bien[,.!]|d'accord|commençons)",
    r"^(?:voy a|vamos a (?:ver|revisar|comprobar)|déjame|ahora|primero|veamos|perfecto|bien[,.!]|de acuerdo)",
    r"^(?:давайте|сейчас|сначала|теперь|посмотр|хорошо[,.!]|отлично|проверю|я (?:проверю|посмотрю|буду|сейчас))",
    r"^(?:먼저|이제|확인해|좋습니다|알겠습니다)",
)

# Questions to the person, offers, closing words.
OFFER = _any(
    r"^(?:would you|do you want|want me|should i|shall i|let me know|feel free|if you(?:'d| would)? (?:like|want|need|prefer)|is there (?:anything|something)|ready (?:to|for|when)|happy to|i can (?:also )?(?:help|do|add|create|implement|show|walk|either)|"
    r"please (?:let|provide|share|tell|confirm|restart|try|run)|could you|can you|what would you|which (?:would|do|option|approach) |how (?:would|does that|should)|does (?:this|that) (?:look|sound|make)|anything else|say the word|just (?:say|tell))",
    r"(?:要不要|需要我|是否需要|请告诉我|如果你(?:想|需要|愿意)|请问)",
    r"(?:でしょうか|ご希望|お知らせください|ますか[？?]?$|教えてください|必要であれば)",
    r"^(?:soll ich|möchtest du|möchten sie|wenn du (?:willst|möchtest)|sag bescheid)",
    r"^(?:voulez-vous|veux-tu|souhaite[sz]|dois-je|si (?:tu|vous) (?:veux|voulez|souhait))",
    r"^(?:quieres|¿quieres|¿te gustaría|te gustaría|si quieres|avísame|dime)",
    r"^(?:хотите|хочешь|нужно ли|если (?:хотите|нужно)|дайте знать|скажите)",
)

# True that day only.
STATUS = _any(
    r"\b(?:all|both|the|every|\d+(?: of \d+)?)?\s*(?:unit |integration |e2e |existing |new )?(?:tests?|checks?|specs?|linting|lint|build|builds|compiles?|ci|suite|everything)\b[^.]{0,40}\b(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?|successful(?:ly)?|clean|works?|compiles?|(?:is|are) fine)\b",
    r"^(?:both|all|everything|tests?|lint|build|it|that|this)?\s*(?:pass(?:es|ed|ing)?|green|works?(?: now)?|clean|compiles?|succeeded)\b[^a-z]{0,3}",
    r"\b(?:committed|pushed|merged|staged|rebased)(?: and (?:pushed|committed))?\b[^.]{0,60}(?:\bto\b|\bas\b|\bsuccessfully\b|$)|\bcommit(?:ted)? (?:successful|created|is ready)|working tree clean|nothing to commit|up[- ]to[- ]date with",
    r"\b(?:0|no|zero) (?:errors?|issues?|failures?|warnings?|problems?)\b(?! (?:on|when|if))",
    r"\b(?:successfully|all done|all set|complete[d]?!?$|is complete|are complete|ready (?:for|to) (?:review|merge|use|commit|push)|looks? good|no (?:further )?changes needed|in progress|production-ready|(?:fully |all |now )ready to|ready to go|the fix (?:is working|works)|already (?:fixed|done|handled|addressed|correct)|unstaged|uncommitted changes|(?:edit|change|file) is (?:done|made|in place|written)|fully (?:working|functional|operational)|as expected)\b",
    r"^(?:[-*]?\s*)?(?:`[^`]+`\s*)?[—–:\-]+\s*(?:passed|passes|ok|clean|done|success)",
    r"(?:测试(?:全部)?(?:都)?通过|已提交|已推送|构建成功|全部通过|编译通过|已完成[。！]?$)",
    r"(?:テスト(?:は|が)?(?:すべて|全て)?(?:通|成功|パス)|コミットしました|プッシュしました|修正完了|完了しました|完了です)",
    r"\b(?:tests? (?:laufen|bestanden|sind grün)|committet|gepusht|build erfolgreich|fertig[.!]?$)",
    r"\b(?:tous les tests|tests? (?:passent|réussi)|commité|poussé|terminé[.!]?$)",
    r"\b(?:todas las pruebas|pruebas? pasan|pasan todas|tests? pasan|listo[.!]?$|hecho[.!]?$)",
    r"(?:тесты (?:проходят|прошли)|закоммич|запуш|сборка успешна|готово[.!]?$)",
)

# The person, or the agent itself, takes something back.
PERSON_DISAGREES = _any(
    r"^(?:no+\b(?! (?:problem|worries|need))|nope|nah|wrong|incorrect|not (?:right|correct|quite|really|what|that|working|true|like)|huh\b|hm+,? (?:no|but|that)|wait\b|stop\b|actually\b|that(?:'s| is| does|'s still)?(?: is)? ?(?:n't|not|wrong|incorrect)|that didn't|"
    r"it(?:'s| is) (?:still|not)|it (?:still|doesn't|didn't)|still (?:not|fail|broken|get|see|the same|there|wrong|no)|doesn't work|didn't work|same (?:error|issue|problem|thing)|revert|undo|roll(?: it| that)? ?back|don't do|why (?:did|are|do|would) you|you (?:broke|missed|forgot|misunderstood|should(?:n't| not) have))",
    r"\b(?:that's (?:wrong|not (?:right|true|correct|it|what))|you(?:'re| are) wrong|revert (?:that|this|it|the)|undo (?:that|this|it|the)|roll (?:it|that|this) back|that (?:is|was) (?:wrong|incorrect|a mistake)|didn't (?:work|help|fix)|doesn't (?:work|help)|not what i (?:want|ask|mean))",
    r"^(?:不对|不是|错了|不行|不要这样|撤销|回滚|还是(?:不|有|报)|没用|等等|别)",
    r"^(?:いや|違|いいえ|ちがう|戻して|やめて|まだ(?:ダメ|動|エラー)|ダメ)",
    r"^(?:nein|falsch|stimmt nicht|nicht richtig|das ist falsch|mach das rückgängig|immer noch|geht nicht)",
    r"^(?:non\b|faux|c'est faux|pas ça|annule|ça ne marche|toujours (?:pas|la même|une erreur))",
    r"^(?:no[,.]|mal\b|está mal|eso no|incorrecto|deshaz|revierte|sigue (?:sin|fallando)|no funciona)",
    r"^(?:нет\b|неверно|неправильно|не так|откати|верни|всё ещё|не работает|это не)",
)

AGENT_TAKES_BACK = _any(
    r"\b(?:i was wrong|i(?:'m| am) sorry|my mistake|my bad|apolog(?:ies|ize|ise)|i misread|i misunderstood|i made (?:a mistake|an error)|i (?:incorrectly|mistakenly|wrongly)|that was (?:wrong|incorrect|not)|that(?:'s| is) not (?:right|correct|the (?:issue|problem|cause))|"
    r"you're right[,—– ]+(?:sorry|i (?:should|was|mis|over))|sorry[,.]|my (?:earlier|previous|initial) (?:\w+ )?(?:was|is) (?:wrong|incorrect)|let me (?:revert|undo)|i(?:'ll| will) revert|reverted|rolled back|rolling back|scratch that)\b",
    r"(?:我错了|抱歉|对不起|之前的(?:判断|说法)(?:是错|有误|不对)|我理解错|已回滚|已撤销)",
    r"(?:申し訳|すみません|間違えました|誤りでした|取り消し)",
    r"\b(?:ich lag falsch|mein fehler|entschuldigung|tut mir leid|rückgängig gemacht)\b",
    r"\b(?:je me suis trompé|mon erreur|désolé|j'avais tort|annulé)\b",
    r"\b(?:me equivoqué|mi error|perdón|lo siento|revertido)\b",
    r"(?:я ошиб|моя ошибка|извините|прошу прощения|откатил)",
)

FAILED_TRY = _any(
    r"^(?:still (?:slow|fail\w*|broken|not|the same|get\w*|see\w*|there|an?|no)|hmm+|wait[,.]|actually[,]|that (?:didn't|doesn't|did not|broke)|this (?:didn't|doesn't work|approach (?:won't|doesn't|didn't))|didn't (?:work|help)|the (?:fix|change) (?:didn't|did not)|no luck|same (?:error|issue|problem|result)|not (?:quite|it))",
    r"^(?:还是|仍然|不对|没有生效)|^(?:まだ|うまくいき)|^(?:immer noch|klappt nicht)|^(?:toujours|encore)|^(?:sigue|todavía)|^(?:всё ещё|не помогло)",
)

CONFIRMS = _any(
    r"^(?:thanks|thank you|thx|ty\b|great|perfect|awesome|nice|lgtm|looks good|works|it works|that works|that worked|excellent|cool|good|yes|yep|yeah|amazing|love it|well done|ship it|commit|merge|push|ok(?:ay)?[,.! ]|alright|now )",
    r"^(?:谢谢|很好|好的|可以|完美|不错|没问题|提交|行)|^(?:ありがとう|いいね|完璧|OK|良い|はい)|^(?:danke|super|perfekt|gut|passt|ja\b)|^(?:merci|parfait|super|oui|bien)|^(?:gracias|perfecto|genial|sí|bien|vale)|^(?:спасибо|отлично|да\b|хорошо|супер)",
)

# The person's own wishes and ways of working.
WISH = _any(
    r"\b(?:never|always|don't|do not|must(?: not|n't)?|should(?:n't| not)?|we use|we (?:don't|never|always)|instead(?: of)?|rather than|prefer|i'd (?:like|rather|love)|i want|i like|i don't (?:want|like|think)|explicitly|only|make sure|no need|avoid|keep (?:it|the|in mind)|"
    r"the (?:idea|goal|point|reason) is|because|could we (?:also )?(?:just )?\w+|let's|remember|from now on|important|rules?|no more|everywhere|we (?:had|tried|got burned)|please no|no \w+ and no)\b",
    r"(?:不要|必须|总是|永远|应该|我们用|而不是|我想|我希望|务必|记住|以后|只要|别用|因为|最好)",
    r"(?:必ず|しないで|してください|ではなく|べき|したい|欲しい|方針|禁止|維持|のみ)",
    r"\b(?:nie(?:mals)?|immer|bitte nicht|nicht|wir (?:nutzen|verwenden|benutzen)|statt|lieber|sollte|muss|möchte|ich will|regel|kein\w*|grundsätzlich)\b",
    r"\b(?:jamais|toujours|ne .{1,20} pas|on utilise|au lieu de|plutôt|il faut|je (?:veux|voudrais|préfère))\b",
    r"\b(?:nunca|siempre|no (?:uses|quiero|hagas)|usamos|en lugar de|en vez de|prefiero|quiero|hay que|debe)\b",
    r"(?:никогда|всегда|не надо|не нужно|используем|вместо|лучше|должн|хочу|нужно)",
)

# Housekeeping that follows from the change itself.
TRIVIAL = _any(
    r"\b(?:added|removed?|updated|cleaned up)\b[^.]{0,40}\bimports?\b|\bunused (?:import|variable)|\bformatting\b|\btypos?\b|^(?:updated|added|removed) (?:the )?(?:comments?|tests?|docs?)\b[^`]*$"
)

GENERIC_HEADING = Cue(
    r"^(?:(?:other |more |additional |remaining |minor |major |critical |important |medium |low |high |p\d )+(?:priority )?(?:issues?|problems?|changes?|findings?|notes?|points?|concerns?|observations?|suggestions?|improvements?)(?: found)?|(?:on|about) the .*|bottom line|logic|method|short[- ]term.*|long[- ]term.*|summary(?: of .*)?|changes?(?: made)?|what (?:i|was) (?:changed|did|done).*|overview|details?|files?(?: (?:changed|modified|to modify))?|done|result[s]?|the fix|fix(?:es)?|the (?:problem|issue)|problem|issue|"
    r"solution|implementation|analysis|review(?: summary)?|step \d.*|\d+|option \w|note|notes|key (?:changes|points|findings|insights?)|findings|conclusion|bottom line|before|after|current(?: state)?|example|"
    r"总结|变更|修改|结论|概要|変更概要|変更点|zusammenfassung|änderungen|résumé|changements|resumen|cambios|итог|изменения)\s*[:：]?$"
)
DULL_HEADING = Cue(
    r"verif|testing|test (?:results?|plan|coverage)|next step|how to test|status|checklist|files (?:to )?(?:modif|chang|creat|touch)|usage|commit|what's good|strengths|positive|验证|测试|下一步|確認|テスト|nächste|prochaine|próximos|следующ"
)
TELLING_HEADING = Cue(
    r"root cause|cause|problem|issue|bug|why|analysis|finding|insight|gotcha|caveat|decision|trade-?off|fix|solution|how it works|architecture|design|key|important|limitation|rationale|constraint|原因|问题|方案|决定|理由|設計|ursache|lösung|cause|solution|decisión|причин|решени"
)
# Something that goes wrong, or could.
FAULT = _any(
    r"\b(?:can leave|risk(?:s|y)? of|corrupt\w*|crash(?:es|ed)?|leak(?:s|ed|ing)?|los(?:es|t|ing)|orphan\w*|stale|broken|hangs?|blocks?|mismatch\w*|incompatib\w*|conflicts?|duplicat\w+|wrong|missing|misleading|flaky|truncat\w+|overwrit\w+|"
    r"dead code|unreachable|deprecated|undefined|timeouts?|errors?|fails?|failed|failing|fail|unsupported|denied|vulnerab\w+|non-atomic|never (?:called|used|read|set|existed|executes?)|isn't|wasn't|aren't|won't|doesn't|didn't|not (?:set|found|available|called|set up|installed|atomic))\b",
    r"(?:错误|失败|缺少|丢失|冲突|泄漏|崩溃|超时|不存在|无法|エラー|失敗|欠落|競合|重複|できない|fehler|fehlt|falsch|kaputt|erreur|échoue|manqu|falla|falta|ошибк|сбой|отсутств|не работает)",
)
OPTION_HEADING = Cue(
    r"\boptions?\b|alternativ|possible|potential|ideas?\b|questions?|recommend|suggest|proposal|what i'd want|next"
)
# Advice to whoever reads the chat, not knowledge about the project.
ADVICE = _any(
    r"^(?:you (?:may|might|can|could|should|will|'ll|now)|replace .* with your|now you can|make sure you|consider |simply |just |feel free|try )\b|\byour (?:desired|own|actual) "
)
REPLY = Cue(
    r"^(?:good|great|perfect|excellent|right|ok(?:ay)?|yes|no|sure|nice|interesting|correct|exactly|indeed|understood|you(?:'re| are) right|ja|nein|doch|genau|oui|non|sí|да|нет)\b[ ,.!:—–-]"
)
PROPOSED = _any(
    r"^[\"“«「].*[\"”»」][.!]?$|^(?:we|you) (?:could|can|might) (?:also )?\b|^(?:one|another) (?:option|approach|idea)\b|^(?:if|when) (?:you|that|this) (?:want|happens|still|fails)\b"
)

HYPOTHESIS = Cue(
    r"\b(?:(?:could|may|would) help|a few things|worth trying|might|maybe|perhaps|possibl[ye]|probably|likely|hypothes[ie]s|suspect|could be|seems? (?:like|to)|should (?:now |also )?(?:pass|work|fix|be (?:fixed|fine|ok))|i think|not sure|unclear|presumably|i(?:'d| would) (?:suggest|recommend|propose))\b|可能|也许|大概|かもしれ|おそらく|vielleicht|möglicherweise|peut-être|quizás|tal vez|возможно|наверное"
)
DANGLING = Cue(
    r"^(?:this|that|these|those|it|they|so|but|however|also|then|and|or|both|which|here|there|he|she|such|otherwise|additionally|similarly|instead|therefore|hence|the (?:same|latter|former|other|second|first|rest|fix|issue|problem|key|reason|result)|"
    r"dies|das|es|sie|aber|also|deshalb|cela|ça|ce|il|elle|mais|donc|esto|eso|pero|así|это|но|поэтому|он|она)\b|^(?:这|那|它|但|所以|因此|其|これ|それ|この|その|しかし|そのため|ただし)"
)

# Says outright what the cause was.
BLAMES = _any(
    r"\b(?:because|root cause|due to|caused by|the (?:real |actual |underlying )?(?:issue|problem|cause|bug|reason|culprit) (?:is|was)|(?:is|was) that)\b|原因|因为|由于|根因|ため|weil|ursache|parce que|la cause|porque|la causa|потому что|причин|때문"
)
# Opens with a word for something that a sentence before named.
REFERS = _any(
    r"^(?:it|they|he|she|which|so|here|there)\b|^(?:this|that|these|those)(?:'s|'ll|\s+(?:is|are|was|were|has|have|had|can|could|will|would|should|may|might|must|does|do|did|also|now|only|way|approach|gives?|means?|lets?|keeps?|works?|[a-z]+(?<!s)s)\b)|"
    r"^the (?:same|latter|former|other|second|first|rest)\b|^(?:它|这样|这是|这会|那)|^(?:これは|それは)|^(?:ça|cela|c'est)\b|^(?:esto|eso)\b|^это\b"
)
# What the speaker was about to do.
NEXT_ACT = _any(
    r"(?:^|[.;—,]\s|\bso |\band |\bthen )(?:now )?(?:i(?:'ll| will| need to| have to| should| am going to|'m going to)|let me|we need to)\b"
)
REPORT = _any(
    r"^(?:i(?:'ve| have)? |we(?:'ve| have)? |also |now |have |has )*(?:added|updated|created|removed|changed|modified|renamed|moved|replaced|refactored|extracted|wrote|implemented)\b"
)
ABOUT_TESTS = _any(
    r"\b(?:tests?|test (?:cases?|files?|suite)|assertions?|asserts?|fixtures?|expectations?)\b|\bTest[A-Z]\w+|\w_test\b|\btest_\w+"
)

# The speaker sums up: what follows is what they would keep.
SUMS_UP = _any(
    r"^(?:so |and )?(?:what (?:we|i) (?:learned|learnt|found|know now)|what holds[^:.]{0,30}|to remember|worth remembering|in short|in summary|to sum up|the point|the upshot|bottom line|tl;?dr|(?:key |main )?takeaways?|(?:the )?lesson(?: learned)?|rule of thumb|key insight|remember)(?: is)?\s*[:,—–-]",
    r"^(?:记住|总之|一句话|总结一下|要点|简单来说|结论)[：:，,是]|^(?:要点|まとめると|結論|ポイント)[はとして：:、]|^(?:kurz(?: gesagt| gefasst)?|merke|zusammengefasst|fazit|was gilt|was bleibt)\b[^.]{0,20}[:,]|^(?:en résumé|à retenir|en bref|bref)\s*[:,]|^(?:en resumen|en suma|para recordar)\s*[:,]|^(?:итог|итак|коротко|вывод|главное)\s*[:,—]",
)
# An introduction that the items of its list finish: each of them alone is half a sentence.
OPEN_INTRO = Cue(
    r"(?:\b(?:when|if|because|since|so|that|to|by|with|are|is|was|were|where|like|for|from|of|on|either|both|includ\w+|verifies|ensures|means|wenn|weil|dass|si|que|cuando|если|что)|[时当因为]|ため)\s*[:：]\W*$"
)
BLAMING_INTRO = _any(r"root cause|\bcause[sd]?\b|\bbecause\b|\bwhy\b|原因|根因|ursache|причин")
NEXT_LABEL = Cue(r"^(?:natural |possible |suggested )?next steps?\b|^option \w\b")
# Opens by answering; what it answers with comes after the colon.
ANSWERED = Cue(
    r"^(?:you(?:'re| are) (?:absolutely |completely |quite )?right[^:.!]{0,50}|good (?:point|catch|question|call)[^:.!]{0,40}|i was wrong[^:.!]{0,40}|(?:yes|no|right|correct|exactly)|du hast recht[^:.!]{0,40}|tu as raison[^:.!]{0,40}|tienes razón[^:.!]{0,40}|ты прав[^:.!]{0,40}|你说得对|你是对的|その通り(?:です)?)\s*[:：]\s+"
)
# Says that a failure is repaired.
CLAIMS_FIX = _any(
    r"\b(?:fix(?:es|ed)?|solv(?:es|ed)|resolv(?:es|ed)|should (?:now )?work|works now|ready to go|gelöst|behoben|corrigé|résolu|arreglado|solucionado)\b|исправ|修复|解决|修正|解決"
)
# The point a session comes to: what was done in the end and why that and nothing else.
DECISIVE = _any(
    r"\b(?:so the (?:right |real |correct |lasting )?fix is|the (?:right |real |correct |lasting |actual |final |proper |better )?(?:fix|solution|answer|cure|workaround|recommendation) (?:is|was|would be)\b|fixed (?:it )?by\b|the (?:right|correct|proper) (?:approach|way|place)|"
    r"we (?:went with|settled on|chose|decided|picked|keep|ended up)|i (?:went with|settled on|chose|picked|ended up)|settled on|the trick is|what (?:finally )?(?:works|helped|fixed it)|in the end|"
    r"the (?:real|actual|root|underlying) (?:cause|reason|issue|problem|bug|culprit) (?:is|was|turned out))",
    r"(?:最终|解决(?:办法|方案)(?:是|：)|正确的做法|我们(?:选择|决定|采用)|根本原因是|最終的に|解決策は|正しい(?:方法|対応)|採用し)",
    r"\b(?:die (?:richtige |eigentliche )?lösung (?:ist|war)|wir haben uns (?:für|entschieden)|am ende|la solution (?:est|était)|nous avons (?:choisi|décidé)|la solución (?:es|fue)|decidimos|elegimos|al final)\b",
    r"(?:решение (?:—|в том|было)|в итоге|мы (?:выбрали|решили)|правильн\w+ (?:способ|подход))",
)
# A reason beside a report of a change.
REASON = _any(
    r"\b(?:because|since|so that|so|which|due to|otherwise|to avoid|to prevent|to keep|instead of|rather than|in order to|unless|therefore|even (?:if|when)|weil|damit|sonst|statt|parce que|car|pour (?:que|éviter)|porque|para (?:que|evitar))\b|потому|чтобы|иначе|因为|避免|以便|否则|ため|ので|から"
)
# A line of a change log.
CHORE = _any(
    r"^\W*(?:now |also |i |we |i've |we've )*(?:updated?|bumped|upgraded|downgraded|resolved|merged|rebased|regenerated|reformatted|formatted|renamed|moved|adjusted|cleaned up|refreshed|synced|cherry-picked|committed|created|wrote|adds?|added|modified|extended)\b",
    r"^\W*(?:resolved|fixed|solved) (?:the |a |all |both )?(?:merge )?(?:conflicts?|typos?|lint\w*|imports?)\b",
    r"^\W*lines? \d+(?:[-–]\d+)?\b",
    r"^(?:更新了|添加了|新增了|修改了|解决了冲突|更新しました|追加しました)",
)
# One test of a list of tests.
TEST_ITEM = _any(
    r"^\W*(?:Test[A-Z]\w+|test_\w+|\w+_test(?:\.\w+)?|[a-z0-9]+(?:_[a-z0-9]+)+)\W*\s*(?:[-—–:]|\()\s*(?:now )?(?:verif|check|test|assert|ensur|cover|append|expect|creat|writ|return|fail|pass|simulat)",
    r"^\W*[\w./-]*(?:_test|test_|\.test|\.spec)[\w./-]*\W*\s+(?:tests|verifies|covers|checks|asserts)\b",
    r"^\W*added (?:\w+ ){0,3}(?:tests?|test cases?|assertions?)\b",
    r"^\W*(?:the |this |new |these )?(?:test\w*(?: \w+)?|tests?)\s+(?:verif|check|cover|assert|ensur)\w+",
)
# A sentence that stops where what it speaks of should follow.
OPEN_END = Cue(r"\b(?:says|reads|shows|looks like|as follows|is|are|like this|this specific line)\s*[:：]\s*[`├│└]")
LINE_NUMBER = Cue(r"^\W*lines? \d+(?:\s*[-–]\s*\d+)?\s*[:：—–-]")
# Goes on from something that is not here.
GOES_ON = Cue(r"^(?:however|but|also|and|then|additionally|aber|mais|pero|но|但|ただし|しかし)\b|^(?:但|ただし|しかし)")
# The search is over here, and what was held before was not it.
FOUND_AT_LAST = _any(
    r"^(?:there it is|found it|got it[,!.—–-]|aha|now i (?:see|understand) (?:the|why|what)|that's it[.!:—–-]|so that's (?:it|why)|the (?:real|actual) (?:cause|issue|problem|bug|reason|culprit) (?:is|was)|i see (?:the|what the) (?:real|actual)|da ist es|jetzt sehe ich|voilà|ahí está|ya lo encontré|вот оно|нашёл|наш[её]л причину|找到了|原来|見つけました)"
)
